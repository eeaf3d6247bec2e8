// Package helm checks the chart. What it renders, `make helm-check` gives to
// TestRendered; that takes helm, which is compiled for minutes.
package helm

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

func read(t *testing.T, path string) []byte {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// A chart reads its own files only, so that it has copies.
//
//go:generate cp ../prometheus/iasql.rules.yml ../grafana/iasql.json iasql/files/
func TestCopies(t *testing.T) {
	t.Parallel()
	for copied, original := range map[string]string{"iasql.rules.yml": "../prometheus/iasql.rules.yml",
		"iasql.json": "../grafana/iasql.json"} {
		if !bytes.Equal(read(t, "iasql/files/"+copied), read(t, original)) {
			t.Errorf("iasql/files/%s differs from %s: go generate ./deploy/helm", copied, original)
		}
	}
}

// Every value has a place in the schema, which refuses what it does not know, and the
// other way round.
func TestSchema(t *testing.T) {
	t.Parallel()
	var values map[string]any
	if err := yaml.Unmarshal(read(t, "iasql/values.yaml"), &values); err != nil {
		t.Fatal(err)
	}
	var schema map[string]any
	if err := json.Unmarshal(read(t, "iasql/values.schema.json"), &schema); err != nil {
		t.Fatal(err)
	}
	var compare func(path string, values, schema map[string]any)
	compare = func(path string, values, schema map[string]any) {
		properties, _ := schema["properties"].(map[string]any)
		if properties == nil { // any there may be
			return
		}
		if schema["additionalProperties"] != false {
			t.Errorf("%s takes what it does not know", path)
		}
		for name, value := range values {
			of, ok := properties[name].(map[string]any)
			if !ok {
				t.Errorf("%s.%s is not in the schema", path, name)
			} else if below, ok := value.(map[string]any); ok {
				compare(path+"."+name, below, of)
			}
		}
		for name := range properties {
			if _, ok := values[name]; !ok && name != "global" {
				t.Errorf("%s.%s is in the schema and has no default", path, name)
			}
		}
	}
	compare("values", values, schema)
}

// rendered returns the objects of a rendering, by kind.
func rendered(t *testing.T, name string) map[string]map[string]any {
	t.Helper()
	dir := os.Getenv("HELM_RENDERED")
	if dir == "" {
		t.Skip("make helm-check renders the chart")
	}
	objects := map[string]map[string]any{}
	for decoder := yaml.NewDecoder(bytes.NewReader(read(t, filepath.Join(dir, name)))); ; {
		var object map[string]any
		if decoder.Decode(&object) != nil {
			return objects
		}
		if kind, ok := object["kind"].(string); ok {
			if objects[kind] != nil {
				t.Errorf("two objects of kind %s", kind)
			}
			objects[kind] = object
		}
	}
}

// at follows a path of keys and indexes.
func at(v any, path ...any) any {
	for _, step := range path {
		switch step := step.(type) {
		case string:
			m, _ := v.(map[string]any)
			v = m[step]
		case int:
			list, _ := v.([]any)
			if step >= len(list) {
				return nil
			}
			v = list[step]
		}
	}
	return v
}

func is(t *testing.T, object any, want any, path ...any) {
	t.Helper()
	if got := at(object, path...); !reflect.DeepEqual(got, want) {
		t.Errorf("%v is %v, want %v", path, got, want)
	}
}

// variable returns a variable of a container.
func variable(container any, name string) map[string]any {
	list, _ := at(container, "env").([]any)
	for _, v := range list {
		if at(v, "name") == name {
			return v.(map[string]any)
		}
	}
	return nil
}

func TestRendered(t *testing.T) {
	plain, all := rendered(t, "plain.yaml"), rendered(t, "everything.yaml")
	kinds := func(objects map[string]map[string]any) string {
		var names []string
		for kind, object := range objects {
			names = append(names, kind)
			is(t, object, "cloud", "metadata", "namespace")
			is(t, object, "iasql", "metadata", "labels", "app.kubernetes.io/name")
		}
		slices.Sort(names)
		return strings.Join(names, " ")
	}
	if got, want := kinds(plain), "Deployment PodDisruptionBudget Service ServiceAccount"; got != want {
		t.Errorf("renders %s, want %s", got, want)
	}
	if got, want := kinds(all), "ConfigMap Deployment Ingress NetworkPolicy PodDisruptionBudget PrometheusRule "+
		"Service ServiceAccount ServiceMonitor"; got != want {
		t.Errorf("renders %s, want %s", got, want)
	}
	for name, objects := range map[string]map[string]map[string]any{"plain": plain, "everything": all} {
		pod := at(objects["Deployment"], "spec", "template", "spec")
		is(t, pod, true, "securityContext", "runAsNonRoot")
		is(t, pod, "RuntimeDefault", "securityContext", "seccompProfile", "type")
		is(t, pod, false, "automountServiceAccountToken")
		container := at(pod, "containers", 0)
		is(t, container, true, "securityContext", "readOnlyRootFilesystem")
		is(t, container, false, "securityContext", "allowPrivilegeEscalation")
		is(t, container, []any{"ALL"}, "securityContext", "capabilities", "drop")
		is(t, container, "/readyz", "readinessProbe", "httpGet", "path")
		is(t, container, "/healthz", "livenessProbe", "httpGet", "path")
		if at(container, "resources", "limits", "memory") == nil ||
			at(container, "resources", "requests", "cpu") == nil {
			t.Errorf("%s: no resources", name)
		}
		if at(variable(container, "DATABASE_URL"), "valueFrom", "secretKeyRef", "name") == nil {
			t.Errorf("%s: the database's URL is of no Secret", name)
		}
		// The selectors find the pods.
		labels := at(objects["Deployment"], "spec", "template", "metadata", "labels").(map[string]any)
		for _, selector := range []any{at(objects["Deployment"], "spec", "selector", "matchLabels"),
			at(objects["Service"], "spec", "selector"),
			at(objects["PodDisruptionBudget"], "spec", "selector", "matchLabels")} {
			for key, value := range selector.(map[string]any) {
				if labels[key] != value {
					t.Errorf("%s: a selector wants %s=%v", name, key, value)
				}
			}
		}
	}
	container := at(plain["Deployment"], "spec", "template", "spec", "containers", 0)
	// By default nobody sends a password to the console in clear, as nobody reaches it.
	is(t, variable(container, "IASQL_HTTP"), "127.0.0.1:8787", "value")
	if variable(container, "IASQL_HTTP_INSECURE") != nil {
		t.Error("the console is served in clear by default")
	}
	is(t, plain["Service"], []any{map[string]any{"name": "metrics", "port": 8788, "targetPort": "metrics"}},
		"spec", "ports")
	if variable(container, "OTEL_EXPORTER_OTLP_ENDPOINT") != nil {
		t.Error("traces are not off by default")
	}
	container = at(all["Deployment"], "spec", "template", "spec", "containers", 0)
	is(t, variable(container, "IASQL_HTTP_CERT"), "/etc/iasql/tls/tls.crt", "value")
	is(t, variable(container, "IASQL_HTTP"), ":8787", "value")
	is(t, variable(container, "IASQL_HTTP_TRUSTED_PROXY"), "10.0.0.0/8,192.0.2.1", "value")
	is(t, container, "metrics", "livenessProbe", "httpGet", "port")
	is(t, variable(container, "OTEL_EXPORTER_OTLP_ENDPOINT"), "http://collector:4318", "value")
	is(t, variable(container, "OTEL_TRACES_SAMPLER_ARG"), "0.1", "value")
	is(t, variable(container, "IASQL_MIGRATE"), "false", "value")
	is(t, all["ServiceAccount"], "arn:aws:iam::123456789012:role/iasql", "metadata", "annotations",
		"eks.amazonaws.com/role-arn")
	// What an ingress routes is the console alone; metrics have a port of their own, and nothing skips a certificate.
	is(t, all["Ingress"], "http", "spec", "rules", 0, "http", "paths", 0, "backend", "service", "port", "name")
	is(t, variable(container, "IASQL_HTTP_METRICS"), ":8788", "value")
	is(t, all["ServiceMonitor"], "metrics", "spec", "endpoints", 0, "port")
	is(t, all["ServiceMonitor"], nil, "spec", "endpoints", 0, "tlsConfig")
	is(t, all["NetworkPolicy"], "metrics", "spec", "ingress", 1, "ports", 0, "port")
	is(t, all["NetworkPolicy"], []any{"Ingress", "Egress"}, "spec", "policyTypes")
	if !strings.Contains(at(container, "image").(string), "@sha256:") {
		t.Error("the digest does not beat the tag")
	}
	// The alerts are those of deploy/prometheus.
	var rules map[string]any
	if err := yaml.Unmarshal(read(t, "../prometheus/iasql.rules.yml"), &rules); err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(all["PrometheusRule"]["spec"], rules) {
		t.Error("the rules are not those of deploy/prometheus")
	}
	if dashboard := at(all["ConfigMap"], "data", "iasql.json").(string); dashboard != string(read(t, "../grafana/iasql.json")) {
		t.Error("the dashboard is not that of deploy/grafana")
	}
}
