// Package tfstate reads Terraform's state of AWS resources, and says by which columns of which
// table each resource is found again. It reads names and ids alone: what else a state holds,
// secrets among it, is not kept.
//
// The format is version 4 of the state, which Terraform writes since 0.12
// (https://developer.hashicorp.com/terraform/language/state). What attributes a resource has is
// in the documentation of the provider hashicorp/aws.
package tfstate

import (
	_ "embed"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
)

// A Resource is one instance of a managed resource.
type Resource struct {
	Address string // as terraform state list prints it
	Type    string // such as aws_vpc
	Region  string // "" if the state does not say

	attributes map[string]string
}

// A State is what a state names.
type State struct {
	Resources []Resource
	Elsewhere []Resource // resources of other providers
}

// A Column is a column of a record and where its value stands in the state. Of a reference,
// Table and Of say which column of which table has that value.
type Column struct {
	Name      string
	Table, Of string
	attribute string // alternatives, with | between them
}

// A Rule says where the record of a resource is found.
type Rule struct {
	Table   string
	Columns []Column
}

//go:embed resources.csv
var resources string

// rules are the rows of resources.csv by type. A type of several rows is in one of their tables.
var rules = sync.OnceValue(func() map[string][]Rule {
	rows, err := csv.NewReader(strings.NewReader(resources)).ReadAll()
	if err != nil {
		panic(err) // a test reads it
	}
	byType := map[string][]Rule{}
	for _, row := range rows[1:] {
		rule := Rule{Table: row[1]}
		attributes := strings.Fields(row[3])
		for i, name := range strings.Fields(row[2]) {
			column := Column{attribute: attributes[i]}
			name, reference, _ := strings.Cut(name, ">")
			column.Name = name
			column.Table, column.Of, _ = strings.Cut(reference, ".")
			rule.Columns = append(rule.Columns, column)
		}
		byType[row[0]] = append(byType[row[0]], rule)
	}
	return byType
})

// Rules returns where resources of a type are found, nil if no table has them.
func Rules(typeName string) []Rule { return rules()[typeName] }

// Types returns the types that have rules.
func Types() map[string][]Rule { return rules() }

// Values returns what the columns of a rule have for the resource; false if the state does not
// say enough.
func (r *Resource) Values(rule Rule) ([]string, bool) {
	values := make([]string, len(rule.Columns))
	known := false
	for i, column := range rule.Columns {
		for name := range strings.SplitSeq(column.attribute, "|") {
			if values[i] = r.attributes[name]; values[i] != "" {
				known = true
				break
			}
		}
	}
	return values, known && values[0] != ""
}

// Parse reads a state.
func Parse(in io.Reader) (*State, error) {
	var file struct {
		Version   int `json:"version"`
		Resources []struct {
			Module, Mode, Type, Name, Provider string
			Instances                          []struct {
				IndexKey   any            `json:"index_key"`
				Deposed    string         `json:"deposed"`
				Attributes map[string]any `json:"attributes"`
			} `json:"instances"`
		} `json:"resources"`
	}
	decoder := json.NewDecoder(in)
	decoder.UseNumber()
	if err := decoder.Decode(&file); err != nil {
		return nil, fmt.Errorf("it is no state of Terraform's: %w", err)
	}
	switch {
	case file.Version == 0:
		return nil, errors.New("it is no state of Terraform's: it has no version. If it is encrypted, " +
			"`tofu state pull` prints it in the clear")
	case file.Version != 4:
		return nil, fmt.Errorf("it is a state of version %d, and not of 4: `terraform state pull` of Terraform 0.12 "+
			"or later prints one", file.Version)
	}
	state := &State{}
	for _, resource := range file.Resources {
		if resource.Mode != "managed" {
			continue
		}
		address := resource.Type + "." + resource.Name
		if resource.Module != "" {
			address = resource.Module + "." + address
		}
		for _, instance := range resource.Instances {
			one := Resource{Address: address + index(instance.IndexKey), Type: resource.Type,
				attributes: map[string]string{}}
			if instance.Deposed != "" {
				one.Address += " (deposed)"
			}
			for name, value := range instance.Attributes {
				switch value := value.(type) {
				case string:
					one.attributes[name] = value
				case json.Number:
					one.attributes[name] = value.String()
				}
			}
			one.Region = region(one.attributes)
			if strings.HasPrefix(resource.Type, "aws_") {
				state.Resources = append(state.Resources, one)
			} else {
				state.Elsewhere = append(state.Elsewhere, one)
			}
		}
	}
	return state, nil
}

// index is the end of an address: of count a number, of for_each a text.
func index(key any) string {
	switch key := key.(type) {
	case json.Number:
		return "[" + key.String() + "]"
	case string:
		return fmt.Sprintf("[%q]", key)
	}
	return ""
}

// region says where a resource is: the provider's version 6 has it as an attribute, and an ARN
// as its fourth part (AWS General Reference, Amazon Resource Names).
func region(attributes map[string]string) string {
	if region := attributes["region"]; region != "" {
		return region
	}
	if parts := strings.SplitN(attributes["arn"], ":", 6); len(parts) == 6 {
		return parts[3]
	}
	return ""
}
