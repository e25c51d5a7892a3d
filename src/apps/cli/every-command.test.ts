// What holds of every command: it says what it does, shows an example that it takes, and prints data as JSON when asked.
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Command } from "commander";
import { commandsOf, examples } from "./examples.ts";
import { createProgram } from "./program.ts";

/** They print no data, or, the last two, write it in formats of their own. */
const withoutJson = ["serve", "completion", "complete", "models trajectories", "feedback export"];

const isHidden = (words: string): boolean => words === "complete";

/** A program that ends no process and prints nothing. */
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

test("every command, and what holds commands, says what it does in a sentence", () => {
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

test("the help of every command shows its examples", () => {
  const commands = commandsOf(quietProgram()).filter(([words]) => !isHidden(words));
  assert.deepEqual(Object.keys(examples).sort(), commands.map(([words]) => words).sort());
  for (const [words, command] of commands) {
    const help = helpOf(command);
    assert.match(help, /^Usage: hone /);
    for (const example of examples[words] ?? []) assert.ok(help.includes(`  ${example}\n`), words);
  }
});

test("every command prints its data as JSON when asked, but for those that have none", () => {
  const found = commandsOf(createProgram())
    .filter(([, command]) => !command.options.some(({ long }) => long === "--json"))
    .map(([words]) => words);
  assert.deepEqual(found.sort(), [...withoutJson].sort());
});

/** The words of a command line as a shell would have them, without what is a shell's own. */
function wordsOf(example: string): readonly string[] {
  const line = (/\$\((.*)\)/.exec(example)?.[1] ?? example).replace(/ # .*$/, "").replace(/ > \S+$/, "");
  return [...line.matchAll(/"([^"]*)"|'([^']*)'|(\S+)/g)].map((match) => match.slice(1).find(isGiven) ?? "");
}

function isGiven(text: string | undefined): boolean {
  return text !== undefined;
}

for (const [words, lines] of Object.entries(examples)) {
  test(`the examples of ${words} are command lines that it takes`, async () => {
    for (const line of lines) {
      const program = quietProgram();
      const taken: string[] = [];
      for (const [name, command] of commandsOf(program)) command.action(() => void taken.push(name));
      const [first, ...rest] = wordsOf(line);
      assert.equal(first, "hone");
      await program.parseAsync([...rest], { from: "user" });
      assert.deepEqual(taken, [words], line);
    }
  });
}

test("a value that a flag does not take is refused with what it takes", async () => {
  for (const [words, message] of [
    [["top", "--interval", "0"], /from 0\.2 to 3600/],
    [["chat", "hello", "--temperature", "warm"], /must be a number/],
    [["completion", "cmd"], /bash, zsh, fish/],
  ] as const)
    await assert.rejects(quietProgram().parseAsync([...words], { from: "user" }), { message });
});
