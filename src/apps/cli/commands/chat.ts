// `hone chat`: chat with one or several models in the terminal, or ask one question.
import { createInterface } from "node:readline/promises";
import { type Command, InvalidArgumentError } from "commander";
import { systemClock } from "../../../base/domain/clock.ts";
import type { Conversation, ChatSettings } from "../chat/conversation.ts";
import { OneModel } from "../chat/one-model.ts";
import { SeveralModels } from "../chat/several-models.ts";
import { withInput } from "../chat/piped-input.ts";
import type { Hone } from "../../client/hone.ts";
import { HoneError } from "../../client/hone-error.ts";
import { addConnectionFlags, connect, type ConnectionFlags } from "../connection.ts";
import { errorText } from "../error-text.ts";
import { isNotFound, toServerModelName, withSuggestion } from "../names/named-version.ts";

interface ChatFlags extends ConnectionFlags {
  readonly model?: readonly string[];
  readonly system?: string;
  readonly temperature?: number;
  readonly topP?: number;
  readonly maxTokens?: number;
  readonly seed?: number;
  readonly json?: boolean;
}

const about = `
The words are the names of models or versions (project/name, project/name@3 or project/name:step3), then the question. You
may leave out either or both. These models and those of --model answer. If there are several, each has its own
conversation, with the same questions and the same seed.

A word with a step is always a name. A word without a step is a name only if the server has a model of that name; put a
question that begins with the name of a model in quotes.

Hone appends piped standard input to the question, or puts it in place of the word -. If there is no question, each line of
the input is a question, and Hone prints only the answers.

  git diff | hone chat "What changed?"
  hone chat --system "Answer in one word." < questions.txt`;

export function addChatCommand(program: Command): void {
  addConnectionFlags(
    program
      .command("chat [words...]")
      .description(
        "Chat with a model, or with several models side by side. With a question on the command line, print the answers and exit.",
      ),
  )
    .option(
      "--model <name>",
      "model to chat with; repeatable (default: the server's default model)",
      (name: string, before: readonly string[] | undefined) => [...(before ?? []), name],
    )
    .option("--system <text>", "system message")
    .option("--temperature <number>", "sampling temperature; 0 is greedy (default: the model's)", number)
    .option(
      "--top-p <share>",
      "nucleus sampling: sample only from the most probable tokens, up to this total probability (default: the model's)",
      number,
    )
    .option("--max-tokens <count>", "maximum length of an answer in tokens (default: the model's)", number)
    .option("--seed <number>", "seed for reproducible answers (default: a random one)", number)
    .option("--json", "print whole answers as JSON: one document, or one line per question of a conversation")
    .addHelpText("after", about)
    .action(async (words: readonly string[], flags: ChatFlags) => {
      const client = connect(flags);
      const count = await countNames(client, words);
      const question = words.slice(count).join(" ");
      const named = [...(flags.model ?? []), ...words.slice(0, count)].map(toServerModelName);
      const json = flags.json !== true ? null : question === "" ? "lines" : "document";
      const asking: ChatSettings = { ...flags, json };
      const suggest = async (error: unknown): Promise<never> => {
        throw isNotFound(error) && named.length === 1 ? await withSuggestion(client, named[0], error) : error;
      };
      const asked: Conversation =
        named.length > 1
          ? new SeveralModels(client, named, asking, systemClock)
          : new OneModel(client, named[0] ?? null, asking);
      if (question === "") await converse(asked, asking);
      else await asked.ask(await withInput(question)).catch((error: unknown) => suggest(error));
    });
}

function number(text: string): number {
  const value = Number(text);
  if (text.trim() !== "" && Number.isFinite(value)) return value;
  throw new InvalidArgumentError("It must be a number.");
}

/** Matches the name of a version, which ends with a step: `name@3` or `name:step3`. */
const versionName = /^\S+(?:@|:step)\d+$/;

/** Returns how many words at the start of the command line are names of models or versions. */
async function countNames(client: Hone, words: readonly string[]): Promise<number> {
  for (const [index, word] of words.entries())
    if (!versionName.test(word) && (/\s/.test(word) || !(await isServed(client, word)))) return index;
  return words.length;
}

/** True if the server has a model of this name that the user may use. */
async function isServed(client: Hone, name: string): Promise<boolean> {
  try {
    await client.served.get(name);
    return true;
  } catch (error) {
    if (error instanceof HoneError && error.status >= 400 && error.status < 500) return false;
    throw error;
  }
}

/**
 * Sends each line of the input as a question until the input ends. Ctrl-C aborts an answer in progress. If none is in
 * progress, it ends the conversation.
 */
async function converse(asked: Conversation, { json }: ChatSettings): Promise<void> {
  // Shows the prompt only on a terminal: a program that reads the output expects only answers.
  const isPrompted = json === null && process.stdin.isTTY && process.stdout.isTTY;
  const lines = createInterface({
    input: process.stdin,
    ...(isPrompted ? { output: process.stdout, terminal: true } : {}),
  });
  const say = (text: string): void => void (isPrompted ? process.stdout : process.stderr).write(text);
  lines.setPrompt("> ");
  if (isPrompted) lines.prompt();
  for await (const line of lines) {
    if (line.trim() !== "") {
      const controller = new AbortController();
      const interrupt = (): void => controller.abort();
      lines.on("SIGINT", interrupt);
      await asked.ask(line, { signal: controller.signal }).catch((error: unknown) => {
        say(controller.signal.aborted ? "\n(stopped)\n" : `\n${errorText(error)}`);
        if (!isPrompted) process.exitCode = 1;
      });
      lines.off("SIGINT", interrupt);
    }
    if (isPrompted) lines.prompt();
  }
  if (isPrompted) process.stdout.write("\n");
}
