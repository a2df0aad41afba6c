package sqlite

func (t Type) String() string {
	return [...]string{"null", "integer", "float", "text", "blob"}[t]
}

// Path is the name that the database was opened by.
func (db *DB) Path() string { return db.path }
