// Checks that each command has a summary, has examples that it accepts, and can print its data as JSON.
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Command } from "commander";
import { commandsOf, examples } from "./examples.ts";
import { createProgram } from "./program.ts";

/** Commands without --json. They print no data, except the last two, which have their own formats. */
const withoutJson = [
  "serve",
  "start",
  "mcp",
  "completion",
  "complete",
  "models trajectories",
  "feedback export",
];

const isHidden = (words: string): boolean => words === "complete";

/** Returns the `hone` program, configured neither to exit nor to print. */
function quietProgram(): Command {
  const program = createProgram();
  const quiet = (command: Command): void => {
    command.exitOverride().configureOutput({ writeOut: () => undefined, writeErr: () => undefined });
    command.commands.forEach(quiet);
  };
  quiet(program);
  return program;
}

function helpOf(command: Command): string {
  let text = "";
  command.configureOutput({ writeOut: (part) => (text += part) }).outputHelp();
  return text;
}

test("gives every command and command group a summary sentence", () => {
  const all = (command: Command): readonly Command[] => [command, ...command.commands.flatMap(all)];
  const silent = all(createProgram()).filter(
    (command) => !/^[A-Z].*[.:].*$|\.$/s.test(command.description()),
  );
  assert.deepEqual(
    silent.map((command) => command.name()),
    [],
  );
  for (const command of all(createProgram()))
    for (const { flags, description, hidden } of command.options)
      assert.ok(hidden || description !== "", `${command.name()} ${flags} says what it is`);
});

test("shows examples in the help of every command", () => {
  const commands = commandsOf(quietProgram()).filter(([words]) => !isHidden(words));
  assert.deepEqual(Object.keys(examples).sort(), commands.map(([words]) => words).sort());
  for (const [words, command] of commands) {
    const help = helpOf(command);
    assert.match(help, /^Usage: hone /);
    for (const example of examples[words] ?? []) assert.ok(help.includes(`  ${example}\n`), words);
  }
});

test("offers --json in every command that prints data", () => {
  const found = commandsOf(createProgram())
    .filter(([, command]) => !command.options.some(({ long }) => long === "--json"))
    .map(([words]) => words);
  assert.deepEqual(found.sort(), [...withoutJson].sort());
});

test("offers --select in every command with --json", () => {
  for (const [words, command] of commandsOf(createProgram())) {
    const has = (flag: string): boolean => command.options.some(({ long }) => long === flag);
    assert.equal(has("--select"), has("--json"), words);
  }
});

test("refuses an unknown command of a group and suggests the nearest one", async () => {
  for (const [words, message] of [
    [["models", "lst"], /`hone models` has no command 'lst'\n\(Did you mean list\?\)/],
    [["jobs", "01a2"], /`hone jobs` has no command '01a2'\nIt has list, show, /],
    [["keys", "lst", "--json"], /has no command 'lst'/],
  ] as const)
    await assert.rejects(quietProgram().parseAsync([...words], { from: "user" }), { message });
});

/**
 * Splits an example into words as a shell would, after removing a comment, an output redirection and an enclosing
 * `$(…)`.
 */
function splitArguments(example: string): readonly string[] {
  const line = (/\$\((.*)\)/.exec(example)?.[1] ?? example).replace(/ # .*$/, "").replace(/ > \S+$/, "");
  return [...line.matchAll(/"([^"]*)"|'([^']*)'|(\S+)/g)].map((match) => match.slice(1).find(isGiven) ?? "");
}

function isGiven(text: string | undefined): boolean {
  return text !== undefined;
}

for (const [words, lines] of Object.entries(examples)) {
  test(`accepts the examples of ${words}`, async () => {
    for (const line of lines) {
      const program = quietProgram();
      const taken: string[] = [];
      for (const [name, command] of commandsOf(program)) command.action(() => void taken.push(name));
      const [first, ...rest] = splitArguments(line);
      assert.equal(first, "hone");
      await program.parseAsync([...rest], { from: "user" });
      assert.deepEqual(taken, [words], line);
    }
  });
}

test("refuses an invalid value of a flag and lists the valid ones", async () => {
  for (const [words, message] of [
    [["top", "--interval", "0"], /from 0\.2 to 3600/],
    [["chat", "hello", "--temperature", "warm"], /must be a number/],
    [["completion", "cmd"], /bash, zsh, fish/],
  ] as const)
    await assert.rejects(quietProgram().parseAsync([...words], { from: "user" }), { message });
});
