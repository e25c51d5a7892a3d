// @ts-check
import { existsSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";

/** The key of the server: HONE_API_KEY, or what `hone serve` keeps in its data folder, here or further up. */
export function findKey() {
  if (process.env["HONE_API_KEY"]) return process.env["HONE_API_KEY"];
  for (let folder = process.cwd(); ; folder = dirname(folder)) {
    const file = join(folder, ".hone", "admin-key");
    if (existsSync(file)) return readFileSync(file, "utf8").trim();
    if (dirname(folder) === folder) return null;
  }
}
