// Shared by `npm test` and `npm run proof`: the list of test files, and the environment in which they run.
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { bundledEntry, root } from "./setup.js";

/** The test files whose path holds one of the names; all where there are none. */
export function testFiles(wanted) {
  return ["src", "test", join("tools", "recipes"), join("tools", "bench"), "examples"]
    .flatMap((folder) =>
      readdirSync(join(root, folder), { recursive: true }).map((name) => join(folder, String(name))),
    )
    .filter((name) => name.endsWith(".test.ts"))
    .filter((name) => wanted.length === 0 || wanted.some((part) => name.includes(part)))
    .sort((one, other) => one.localeCompare(other));
}

/** True if any of these tests uses a PostgreSQL (store/database/testing/postgres-databases). */
export function wantPostgres(files) {
  return files.some((file) => readFileSync(join(root, file), "utf8").includes("/postgres-databases.ts"));
}

/** Returns the built path of a test file. */
export function built(file) {
  return join("dist", file.replace(/\.ts$/, ".js"));
}

// Environment for some three hundred short processes. Extra certificates would be parsed by each, although no request
// leaves the machine, and huge pages would be zeroed; both are turned off. Servers run the bundle, as users' servers
// do.
export const environment = {
  ...process.env,
  TEST_SERVER: bundledEntry,
  // For a test whose programs do reach a registry.
  TEST_CERTIFICATES: process.env.NODE_EXTRA_CA_CERTS ?? "",
  GLIBC_TUNABLES: "glibc.malloc.hugetlb=0",
  NODE_OPTIONS: `${process.env.NODE_OPTIONS ?? ""} --require ${JSON.stringify(join(root, "scripts", "short-lived.cjs"))}`,
};
delete environment.NODE_EXTRA_CA_CERTS;
