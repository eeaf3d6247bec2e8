package runner

import (
	"fmt"
	"strconv"
	"time"
)

// The kinds of what is read of a machine and not changed. What changes all the time, such as how much memory is in use,
// is no part of them.
const (
	KindProcess = "process"
	KindPort    = "port"
	KindDisk    = "disk"
	KindAddress = "address"
	KindSystem  = "system"
)

// Process is one of proc(5) that has run for a minute at least, and no thread of the kernel.
type Process struct {
	PID        int64     `json:"pid"`
	Name       string    `json:"name"`
	Executable string    `json:"executable,omitempty"` // "" if the login may not know
	User       string    `json:"user"`
	Started    time.Time `json:"started"`
}

// Port is one that somebody listens on.
type Port struct {
	Protocol string `json:"protocol"` // tcp, tcp6, udp or udp6
	Address  string `json:"address"`
	Port     int64  `json:"port"`
	User     string `json:"user"`
	// Process and PID are those of who listens: of several the first; "" and 0 if the login may not know.
	Process string `json:"process,omitempty"`
	PID     int64  `json:"pid,omitempty"`
}

// Disk is a file system of a block device that is mounted.
type Disk struct {
	MountPoint string `json:"mount_point"`
	Device     string `json:"device"`
	FileSystem string `json:"file_system"`
	ReadOnly   bool   `json:"read_only"`
	Size       int64  `json:"size"`
	// Used is how many hundredths of it are in use, down to the next ten.
	Used int64 `json:"used"`
}

// Address is an IP address of an interface, with the length of its network's prefix.
type Address struct {
	Interface string `json:"interface"`
	Address   string `json:"address"`
	Scope     string `json:"scope"` // global, site, link or host
}

// System is the operating system that runs on the machine, and what it runs on.
type System struct {
	// BootID is random, and another after each boot (random(4)).
	BootID       string    `json:"boot_id"`
	HostName     string    `json:"host_name"`
	OS           string    `json:"os,omitempty"`         // ID of os-release(5), such as debian
	OSVersion    string    `json:"os_version,omitempty"` // VERSION_ID of it
	OSName       string    `json:"os_name,omitempty"`    // PRETTY_NAME of it
	Kernel       string    `json:"kernel"`
	Architecture string    `json:"architecture"` // as uname(2) has it, such as x86_64
	Booted       time.Time `json:"booted"`
	Processors   int64     `json:"processors"`
	Memory       int64     `json:"memory"` // bytes
}

// Key is what the process is asked for by.
func (p *Process) Key() string { return strconv.FormatInt(p.PID, 10) }

// Scoped is what patterns are matched with.
func (p *Process) Scoped() string { return KindProcess + ":" + p.Name }

// Key is what the port is asked for by.
func (p *Port) Key() string { return fmt.Sprintf("%s/%s/%d", p.Protocol, p.Address, p.Port) }

// Scoped is what patterns are matched with.
func (p *Port) Scoped() string { return fmt.Sprintf("%s:%s:%d", KindPort, p.Protocol, p.Port) }

// Key is what the disk is asked for by.
func (d *Disk) Key() string { return d.MountPoint }

// Scoped is what patterns are matched with.
func (d *Disk) Scoped() string { return KindDisk + ":" + d.MountPoint }

// Key is what the address is asked for by.
func (a *Address) Key() string { return a.Interface + "/" + a.Address }

// Scoped is what patterns are matched with.
func (a *Address) Scoped() string { return KindAddress + ":" + a.Interface }

// Key is what the system is asked for by.
func (s *System) Key() string { return s.BootID }

// Scoped is what patterns are matched with.
func (s *System) Scoped() string { return KindSystem + ":" + s.HostName }
