// What `npm test` and `npm run proof` have in common: which files are tests, and the environment that they run in.
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

/** Whether one of them asks a PostgreSQL (store/database/testing/postgres-databases). */
export function wantPostgres(files) {
  return files.some((file) => readFileSync(join(root, file), "utf8").includes("/postgres-databases.ts"));
}

/** Where the build has a test file. */
export function built(file) {
  return join("dist", file.replace(/\.ts$/, ".js"));
}

// The tests start some three hundred processes, most of which live a second or two: certificates of one's own, which each
// would parse though none leaves the machine, and huge pages, which it would fill with zeros, are of no use to them.
// Servers that they start are the bundle, as those of users are.
export const environment = {
  ...process.env,
  TEST_SERVER: bundledEntry,
  // For a test whose programs do reach a registry.
  TEST_CERTIFICATES: process.env.NODE_EXTRA_CA_CERTS ?? "",
  GLIBC_TUNABLES: "glibc.malloc.hugetlb=0",
  NODE_OPTIONS: `${process.env.NODE_OPTIONS ?? ""} --require ${JSON.stringify(join(root, "scripts", "short-lived.cjs"))}`,
};
delete environment.NODE_EXTRA_CA_CERTS;
