package hosts

import (
	"strings"
	"testing"
)

// TestOwnContainer: a process in a container is told from one on a host that has containers.
func TestOwnContainer(t *testing.T) {
	t.Parallel()
	id := strings.Repeat("0a", 32)
	for line, want := range map[string]string{
		"1 2 254:1 /var/lib/docker/containers/" + id + "/hostname /etc/hostname rw - ext4 /dev/vda rw":                           id,
		"1 2 0:25 /containers/overlay-containers/" + id + "/userdata/hosts /etc/hosts rw - tmpfs tmpfs rw":                       id,
		"1 2 0:63 / /var/lib/containers/storage/overlay-containers/" + id + "/userdata/shm rw,nosuid - tmpfs shm rw,size=64000k": "",
		"1 2 0:63 / /var/lib/docker/containers/" + id + "/mounts/shm rw - tmpfs shm rw":                                          "",
	} {
		if got := containerOf("0 1 254:1 / / rw - ext4 /dev/root rw\n" + line + "\n"); got != want {
			t.Errorf("%s is in %q", line, got)
		}
	}
}
