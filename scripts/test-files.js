// Functions that `npm test` and `npm run proof` share: the list of test files, and the environment in which they run.
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { bundledEntry, root } from "./setup.js";

/** Returns the test files whose paths contain one of the names; without names, all test files. */
export function testFiles(wanted) {
  return ["src", "test", join("tools", "recipes"), join("tools", "bench"), "examples"]
    .flatMap((folder) =>
      readdirSync(join(root, folder), { recursive: true }).map((name) => join(folder, String(name))),
    )
    .filter((name) => name.endsWith(".test.ts"))
    .filter((name) => wanted.length === 0 || wanted.some((part) => name.includes(part)))
    .sort((one, other) => one.localeCompare(other));
}

/** Returns true if any of these tests uses PostgreSQL (through store/database/testing/postgres-databases). */
export function wantPostgres(files) {
  return files.some((file) => readFileSync(join(root, file), "utf8").includes("/postgres-databases.ts"));
}

/** Returns the built path of a test file. */
export function built(file) {
  return join("dist", file.replace(/\.ts$/, ".js"));
}

// Environment of the test processes, about three hundred short-lived ones. It turns off extra certificates, which each
// process would parse, and huge pages, which the kernel would have to zero. Servers run the bundle, as users' servers
// do.
export const environment = {
  ...process.env,
  TEST_SERVER: bundledEntry,
  // Original value of NODE_EXTRA_CA_CERTS, for the test whose programs connect to a registry.
  TEST_CERTIFICATES: process.env.NODE_EXTRA_CA_CERTS ?? "",
  GLIBC_TUNABLES: "glibc.malloc.hugetlb=0",
  NODE_OPTIONS: `${process.env.NODE_OPTIONS ?? ""} --require ${JSON.stringify(join(root, "scripts", "short-lived.cjs"))}`,
};
delete environment.NODE_EXTRA_CA_CERTS;
