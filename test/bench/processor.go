package main

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
)

// ticks returns fields of /proc/pid/stat that count processor time, added up;
// fields are numbered as in proc(5): 14 and 15 are the process's own user and
// system time, 16 and 17 those of its children that have ended.
func ticks(pid int, fields ...int) (time.Duration, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, err
	}
	// The second field is the name in parentheses, which may have spaces.
	f := strings.Fields(string(text[strings.LastIndexByte(string(text), ')')+2:]))
	var sum int
	for _, i := range fields {
		n, err := strconv.Atoi(f[i-3])
		if err != nil {
			return 0, err
		}
		sum += n
	}
	return time.Duration(sum) * 10 * time.Millisecond, nil // USER_HZ is 100
}

// processorTime returns what a process has taken of the processors.
func processorTime(pid int) (time.Duration, error) { return ticks(pid, 14, 15) }

// serverTime returns what the database server has: the postmaster, its children
// that have ended, and those that live.
func serverTime(ctx context.Context, user *pgxpool.Pool) (time.Duration, error) {
	var text string
	if err := user.QueryRow(ctx, `SELECT pg_read_file('postmaster.pid')`).Scan(&text); err != nil {
		return 0, err
	}
	line, _, _ := strings.Cut(text, "\n")
	postmaster, err := strconv.Atoi(line)
	if err != nil {
		return 0, err
	}
	sum, err := ticks(postmaster, 14, 15, 16, 17)
	if err != nil {
		return 0, err
	}
	children, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/children", postmaster, postmaster))
	if err != nil {
		return 0, err
	}
	for field := range strings.FieldsSeq(string(children)) {
		pid, err := strconv.Atoi(field)
		if err != nil {
			return 0, err
		}
		if t, err := processorTime(pid); err == nil { // it may have ended just now
			sum += t
		}
	}
	return sum, nil
}
