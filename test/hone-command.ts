// Provides the command `hone` in a folder, for tests that run commands as people type them. It runs the bundle if a
// script started the tests, otherwise the build.
import { chmodSync, mkdirSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import type { SettingsOverrides } from "../src/apps/server/settings.ts";

/**
 * Puts the command into a folder, which is created if missing.
 *
 * @param limits overrides of the server's limits
 * @returns the folder, to be added to `PATH`
 */
export function putHoneInto(folder: string, limits: SettingsOverrides = {}): string {
  const entry = resolve(process.env["TEST_SERVER"] ?? "dist/src/apps/cli/main.js");
  const launch = `const { main } = await import(${JSON.stringify(entry)}); await main(process.argv.slice(1), ${JSON.stringify(limits)});`;
  mkdirSync(folder, { recursive: true });
  const file = join(folder, "hone");
  writeFileSync(file, `#!/bin/sh\nexec '${process.execPath}' --input-type=module -e '${launch}' -- "$@"\n`);
  chmodSync(file, 0o755);
  return folder;
}
