package support

import (
	"archive/tar"
	"archive/zip"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"
)

// Write writes the parts as a file, a .zip or a .tar.gz by its name, that only its owner may read. It replaces none.
func Write(path string, parts []Part) (err error) {
	write := writeTar
	switch {
	case strings.HasSuffix(path, ".zip"):
		write = writeZip
	case !strings.HasSuffix(path, ".tar.gz") && !strings.HasSuffix(path, ".tgz"):
		return fmt.Errorf("%s: a bundle is a .zip or a .tar.gz", path)
	}
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, os.ErrExist) {
		return fmt.Errorf("%s is there already: remove it, or say another name by --output", path)
	}
	if err != nil {
		return err
	}
	defer func() {
		if err = errors.Join(err, file.Close()); err != nil {
			_ = os.Remove(path)
		}
	}()
	return write(file, parts, time.Now())
}

const folder = "iasql-support/"

func writeZip(to io.Writer, parts []Part, now time.Time) error {
	archive := zip.NewWriter(to)
	for _, p := range parts {
		w, err := archive.CreateHeader(&zip.FileHeader{Name: folder + p.Name, Method: zip.Deflate, Modified: now})
		if err == nil {
			_, err = w.Write(p.Text)
		}
		if err != nil {
			return err
		}
	}
	return archive.Close()
}

func writeTar(to io.Writer, parts []Part, now time.Time) error {
	compressed := gzip.NewWriter(to)
	archive := tar.NewWriter(compressed)
	for _, p := range parts {
		if err := archive.WriteHeader(&tar.Header{Name: folder + p.Name, Mode: 0o600, Size: int64(len(p.Text)),
			ModTime: now}); err != nil {
			return err
		}
		if _, err := archive.Write(p.Text); err != nil {
			return err
		}
	}
	return errors.Join(archive.Close(), compressed.Close())
}
