package format

import "golang.org/x/sys/unix"

const seekData, seekHole = unix.SEEK_DATA, unix.SEEK_HOLE
