// `hone chat`: talk with a model in the terminal, or ask one question.
import { createInterface } from "node:readline/promises";
import type { Command } from "commander";
import type { Hone } from "../../client/hone.ts";
import type { ChatCompletionRequest, Message } from "../../client/api.ts";
import { addConnectionFlags, connect, type ConnectionFlags } from "../connection.ts";

interface ChatFlags extends ConnectionFlags {
  readonly model?: string;
  readonly system?: string;
  readonly temperature?: string;
  readonly maxTokens?: string;
  readonly json?: boolean;
}

export function addChatCommand(program: Command): void {
  addConnectionFlags(
    program
      .command("chat [question...]")
      .description("Talk with a model; with a question, print one answer and stop."),
  )
    .option("--model <name>", "default: the server's default model")
    .option("--system <text>", "a system message")
    .option("--temperature <number>", "0 is greedy")
    .option("--max-tokens <count>", "longest answer")
    .option("--json", "with a question: the whole answer as JSON")
    .action(async (question: readonly string[], flags: ChatFlags) => {
      const client = connect(flags);
      const history: Message[] =
        flags.system === undefined ? [] : [{ role: "system", content: flags.system }];
      if (question.length > 0) {
        history.push({ role: "user", content: question.join(" ") });
        if (flags.json === true)
          process.stdout.write(
            `${JSON.stringify(await client.chat.create(bodyOf(history, flags)), null, 2)}\n`,
          );
        else await answer(client, history, flags);
        return;
      }
      await converse(client, history, flags);
    });
}

/** Reads questions until the end of the input; Ctrl-C stops an answer, and at the prompt the conversation. */
async function converse(client: Hone, history: Message[], flags: ChatFlags): Promise<void> {
  const lines = createInterface({
    input: process.stdin,
    output: process.stdout,
    terminal: process.stdin.isTTY,
  });
  lines.setPrompt("> ");
  lines.prompt();
  for await (const line of lines) {
    if (line.trim() !== "") {
      history.push({ role: "user", content: line });
      const controller = new AbortController();
      const interrupt = (): void => controller.abort();
      lines.on("SIGINT", interrupt);
      await answer(client, history, flags, controller.signal).catch((error: unknown) => {
        history.pop();
        process.stdout.write(
          controller.signal.aborted
            ? "\n(stopped)\n"
            : `\n${error instanceof Error ? error.message : String(error)}\n`,
        );
      });
      lines.off("SIGINT", interrupt);
    }
    lines.prompt();
  }
  process.stdout.write("\n");
}

/** Streams one answer to the terminal and adds it to the history. */
async function answer(
  client: Hone,
  history: Message[],
  flags: ChatFlags,
  signal?: AbortSignal,
): Promise<void> {
  let text = "";
  for await (const chunk of client.chat.stream(
    bodyOf(history, flags),
    signal === undefined ? {} : { signal },
  )) {
    const piece = chunk.choices[0]?.delta.content ?? "";
    process.stdout.write(piece);
    text += piece;
  }
  process.stdout.write("\n");
  history.push({ role: "assistant", content: text });
}

function bodyOf(messages: readonly Message[], flags: ChatFlags): ChatCompletionRequest {
  return {
    messages,
    ...(flags.model === undefined ? {} : { model: flags.model }),
    ...(flags.temperature === undefined ? {} : { temperature: Number(flags.temperature) }),
    ...(flags.maxTokens === undefined ? {} : { max_tokens: Number(flags.maxTokens) }),
  };
}
