package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/plotutil"
	"gonum.org/v1/plot/vg"
)

// curves are the figures that are drawn over the number of objects, by unit.
var curves = []struct {
	file, title, unit string
	whats             []string
}{
	{"growth-time.svg", "Time over the number of objects", "s", []string{"import", "quiet cycle"}},
	{"growth-edit.svg", "One edit to its call, over the number of other records", "ms",
		[]string{"one edit to its call, p50", "one edit to its call, p99"}},
	{"growth-memory.svg", "Resident memory over the number of objects", "MB",
		[]string{"import, resident memory", "quiet cycle, resident memory"}},
}

// write puts what was measured into a directory.
func write(dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	machine := machine()
	text, err := json.MarshalIndent(map[string]any{"machine": machine, "at": time.Now().UTC().Format(time.DateOnly),
		"figures": figures}, "", "  ")
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(dir, "figures.json"), append(text, '\n'), 0o644); err != nil {
		return err
	}
	var b bytes.Buffer
	fmt.Fprintf(&b, "# Figures\n\nWritten by `make bench` on %s, on %s.\n\n| what | objects | value | "+
		"|\n|---|---|---|---|\n", time.Now().UTC().Format(time.DateOnly), machine)
	for _, f := range figures {
		n := ""
		if f.N > 0 {
			n = fmt.Sprint(f.N)
		}
		fmt.Fprintf(&b, "| %s | %s | %.3g %s | %s |\n", f.What, n, f.Value, f.Unit, f.Detail)
	}
	for _, c := range curves {
		for _, what := range c.whats {
			if slope, ok := slope(what); ok {
				fmt.Fprintf(&b, "\n%s: log-log slope %.2f.\n", what, slope)
			}
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "figures.md"), b.Bytes(), 0o644); err != nil {
		return err
	}
	for _, c := range curves {
		if err := draw(filepath.Join(dir, c.file), c.title, c.unit, c.whats); err != nil {
			return fmt.Errorf("%s: %w", c.file, err)
		}
	}
	return nil
}

func points(what string) (xys plotter.XYs) {
	for _, f := range figures {
		if f.What == what {
			xys = append(xys, plotter.XY{X: float64(f.N), Y: f.Value})
		}
	}
	return xys
}

// slope is that of the line of least squares through the logarithms.
func slope(what string) (float64, bool) {
	xys := points(what)
	if len(xys) < 2 {
		return 0, false
	}
	var sx, sy, sxx, sxy float64
	for _, p := range xys {
		x, y := math.Log(p.X), math.Log(p.Y)
		sx, sy, sxx, sxy = sx+x, sy+y, sxx+x*x, sxy+x*y
	}
	n := float64(len(xys))
	return (n*sxy - sx*sy) / (n*sxx - sx*sx), true
}

func draw(file, title, unit string, whats []string) error {
	p := plot.New()
	p.Title.Text, p.X.Label.Text, p.Y.Label.Text = title, "objects", unit
	p.X.Scale, p.Y.Scale = plot.LogScale{}, plot.LogScale{}
	p.X.Tick.Marker, p.Y.Tick.Marker = plot.LogTicks{Prec: -1}, plot.LogTicks{Prec: -1}
	var lines []any
	for _, what := range whats {
		if xys := points(what); len(xys) > 1 {
			lines = append(lines, what, xys)
		}
	}
	if len(lines) == 0 {
		return nil
	}
	if err := plotutil.AddLinePoints(p, lines...); err != nil {
		return err
	}
	p.Legend.Top, p.Legend.Left = true, true
	return p.Save(14*vg.Centimeter, 9*vg.Centimeter, file)
}

// machine describes where the figures come from.
func machine() string {
	model := runtime.GOARCH
	if text, err := os.ReadFile("/proc/cpuinfo"); err == nil {
		for line := range strings.Lines(string(text)) {
			if name, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(name) == "model name" {
				model = strings.TrimSpace(value)
				break
			}
		}
	}
	return fmt.Sprintf("%d processors (%s), %d GB, %s, %s", runtime.NumCPU(), model,
		kilobytes("/proc/meminfo", "MemTotal:")>>30, runtime.GOOS, runtime.Version())
}
