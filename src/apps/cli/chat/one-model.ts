// A conversation with one model, which prints answers as they arrive.
import type { Message } from "../../client/api.ts";
import {
  type Conversation,
  type ChatSettings,
  type AskOptions,
  firstMessages,
  toChatRequest,
  type ChatClient,
  printAnswer,
} from "./conversation.ts";
import { printable } from "./display-width.ts";

export class OneModel implements Conversation {
  readonly #client: ChatClient;
  readonly #model: string | null;
  readonly #asking: ChatSettings;
  #history: readonly Message[];

  /** @param model null for the server's default model */
  constructor(client: ChatClient, model: string | null, asking: ChatSettings) {
    this.#client = client;
    this.#model = model;
    this.#asking = asking;
    this.#history = firstMessages(asking);
  }

  async ask(question: string, options: AskOptions = {}): Promise<void> {
    const asked: readonly Message[] = [...this.#history, { role: "user", content: question }];
    const content = await this.#answer(asked, options);
    this.#history = [...asked, { role: "assistant", content }];
  }

  async #answer(messages: readonly Message[], options: AskOptions): Promise<string> {
    const body = toChatRequest(this.#model, messages, this.#asking);
    if (this.#asking.json !== null) {
      const answer = await this.#client.chat.create(body, options);
      printAnswer(answer, this.#asking);
      return answer.choices[0]?.message.content ?? "";
    }
    let text = "";
    for await (const chunk of this.#client.chat.stream(body, options)) {
      const piece = chunk.choices[0]?.delta.content ?? "";
      process.stdout.write(process.stdout.isTTY ? printable(piece) : piece);
      text += piece;
    }
    process.stdout.write("\n");
    return text;
  }
}
