// Tests of the settings in the short and the long help of `hone serve`.
import assert from "node:assert/strict";
import { test } from "node:test";
import { Command } from "commander";
import { allSettings } from "../server/config.ts";
import { settingGroups } from "../server/settings.ts";
import { addServeCommand } from "./commands/serve.ts";

/** Returns the help that `hone serve` prints for a flag. */
async function helpWith(flag: "--help" | "--help-all"): Promise<string> {
  const program = new Command("hone");
  addServeCommand(program);
  let output = "";
  for (const command of [program, ...program.commands])
    command.configureOutput({ writeOut: (text) => (output += text) }).exitOverride();
  await program.parseAsync(["serve", flag], { from: "user" }).catch((error: unknown) => {
    // Commander throws this error after it has shown help.
    assert.ok(error instanceof Error && "code" in error && error.code === "commander.helpDisplayed");
  });
  return output;
}

/** Returns the flags of settings, grouped by the heading above them. */
function groupsOf(help: string): Readonly<Record<string, readonly string[]>> {
  const groups: Record<string, string[]> = {};
  let heading = "";
  for (const line of help.split("\n")) {
    heading = /^(\S.*):$/.exec(line)?.[1] ?? heading;
    const flag = /^ {2}(--\S+) <value>/.exec(line)?.[1];
    if (flag !== undefined) (groups[heading] ??= []).push(flag);
  }
  return groups;
}

test("shows the essential settings in groups, and mentions the flag that shows all others", async () => {
  const help = await helpWith("--help");
  assert.deepEqual(groupsOf(help), {
    "Addresses and storage": ["--host", "--port", "--data", "--database-url"],
    Access: ["--auth", "--api-key"],
    "Models and answers": ["--model"],
    "Memory and cores": ["--engine-threads", "--engine-context-length-max"],
    "Storage limits and logs": ["--log-level"],
  });
  assert.match(help, /--help-all/);
});

test("shows every setting under its group's heading in the long help", async () => {
  const groups = groupsOf(await helpWith("--help-all"));
  assert.deepEqual(Object.keys(groups), Object.keys(settingGroups));
  assert.deepEqual(
    Object.values(groups).flat(),
    allSettings().map(({ flag }) => flag),
  );
});
