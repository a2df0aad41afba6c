// Run one query of standard input and print its rows as JSON.
import { readFileSync } from "node:fs";
import { DuckDBInstance } from "@duckdb/node-api";

const connection = await (await DuckDBInstance.create(":memory:")).connect();
const reader = await connection.runAndReadAll(readFileSync(0, "utf8"));
console.log(JSON.stringify(reader.getRowObjectsJson()));
