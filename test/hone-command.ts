// `hone` as a command of a path, for tests that run what people type: the bundle where scripts run the tests, else the build.
import { chmodSync, mkdirSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";

/**
 * Puts the command into a folder, which is made where it is missing.
 *
 * @returns the folder, to be put into `PATH`
 */
export function putHoneInto(folder: string): string {
  const entry = resolve(process.env["TEST_SERVER"] ?? "dist/src/apps/cli/main.js");
  const launch = `const { main } = await import(${JSON.stringify(entry)}); await main(process.argv.slice(1));`;
  mkdirSync(folder, { recursive: true });
  const file = join(folder, "hone");
  writeFileSync(file, `#!/bin/sh\nexec '${process.execPath}' --input-type=module -e '${launch}' -- "$@"\n`);
  chmodSync(file, 0o755);
  return folder;
}
