package nsys

// Damaged reports whether part of what was read so far is lost; the warnings
// say what.
func (f *File) Damaged() bool { return len(f.damage) > 0 }
