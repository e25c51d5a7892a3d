// Tests that the last word of a command line is completed.
import assert from "node:assert/strict";
import { test } from "node:test";
import { Argument, Command, Option } from "commander";
import { commandsOf } from "../examples.ts";
import { createProgram } from "../program.ts";
import { completeWords, type Completion } from "./complete-words.ts";
import { sourceOf, valueSources } from "./value-sources.ts";

function program(): Command {
  const hone = new Command("hone");
  const models = hone.command("models").description("Models.");
  models.command("list").option("--json", "as JSON").description("List.");
  models
    .command("export <name>")
    .description("Export.")
    .addOption(new Option("--format <format>", "what").choices(["peft", "merged"]))
    .option("-o, --out <folder>", "where");
  hone.command("hidden", { hidden: true });
  hone.command("check [files...]").description("Check.");
  hone
    .command("serve")
    .description("Serve.")
    .addOption(new Option("--auth <value>", "who").hideHelp())
    .addOption(new Option("--gone <value>").hideHelp());
  hone.command("completion").addArgument(new Argument("<shell>", "which").choices(["bash", "zsh"]));
  return hone;
}

/** Returns the completions' values, or the kind of paths that the shell should complete. */
async function check(words: readonly string[]): Promise<readonly string[]> {
  const { candidates, paths }: Completion = await completeWords(program(), words, {
    sourceOf: (command, what) =>
      what === "--out"
        ? "folders"
        : what === "files"
          ? "files"
          : command === "models export"
            ? "trained"
            : null,
    choicesOf: ({ long }) => (long === "--auth" ? ["on", "off"] : undefined),
    find: async () => [
      { value: "p/agent", about: "" },
      { value: "q/agent", about: "" },
    ],
  });
  return [...candidates.map(({ value }) => value), ...(paths === null ? [] : [`:${paths}`])];
}

test("completes commands by prefix, and omits hidden commands", async () => {
  assert.deepEqual(await check([""]), ["models", "check", "serve", "completion", "help"]);
  assert.deepEqual(await check(["mo"]), ["models"]);
  assert.deepEqual(await check(["models", ""]), ["list", "export", "help"]);
  assert.deepEqual(await check(["nothing", ""]), []);
});

test("completes flags if the word begins like a flag, and omits removed flags", async () => {
  assert.deepEqual(await check(["models", "export", "--"]), ["--format", "--out", "--help"]);
  assert.deepEqual(await check(["serve", "-"]), ["--auth", "--help"]);
  assert.deepEqual(await check(["models", "list", "--", "--"]), []);
});

test("completes a flag's value, both as the next word and after an equals sign", async () => {
  assert.deepEqual(await check(["models", "export", "--format", ""]), ["peft", "merged"]);
  assert.deepEqual(await check(["models", "export", "--format=m"]), ["--format=merged"]);
  assert.deepEqual(await check(["serve", "--auth", "o"]), ["on", "off"]);
  assert.deepEqual(await check(["models", "export", "-o", ""]), [":folders"]);
  assert.deepEqual(await check(["models", "export", "--format=peft", "p"]), ["p/agent"]);
});

test("completes positional arguments, and the last one repeatedly if it is variadic", async () => {
  assert.deepEqual(await check(["models", "export", "q"]), ["q/agent"]);
  assert.deepEqual(await check(["models", "export", "p/agent", ""]), []);
  assert.deepEqual(await check(["check", "one", "two", ""]), [":files"]);
  assert.deepEqual(await check(["completion", "z"]), ["zsh"]);
});

test("assigns value sources only to arguments and flags that exist", () => {
  const commands = new Map(commandsOf(createProgram()));
  for (const [words, sources] of Object.entries(valueSources)) {
    const command = commands.get(words);
    assert.ok(command !== undefined, words);
    for (const what of Object.keys(sources)) {
      const known = [
        ...command.registeredArguments.map((argument) => argument.name()),
        ...command.options.map(({ long }) => long),
      ];
      assert.ok(known.includes(what), `${words} ${what}`);
      assert.notEqual(sourceOf(words, what), null);
    }
  }
});
