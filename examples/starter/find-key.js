// @ts-check
import { existsSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";

/**
 * Returns the server's key: HONE_API_KEY, or the file .hone/admin-key in this folder or the nearest parent that has
 * one; null if there is none.
 */
export function findKey() {
  if (process.env["HONE_API_KEY"]) return process.env["HONE_API_KEY"];
  for (let folder = process.cwd(); ; folder = dirname(folder)) {
    const file = join(folder, ".hone", "admin-key");
    if (existsSync(file)) return readFileSync(file, "utf8").trim();
    if (dirname(folder) === folder) return null;
  }
}
