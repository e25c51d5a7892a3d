// Transfers of prompts to and from an engine in another process. Each call of the contract `PromptTransfers` is one
// message in each direction. A reader or writer of a prompt waits for each piece before it requests the next, so at
// most one piece of each prompt is in transit.
import { assert, unreachable } from "../../../base/domain/assert.ts";
import type { HeldPrompt, PromptTransfers } from "../../../base/domain/prompt-transfer.ts";
import { ServiceError } from "../../../base/domain/service-error.ts";

/** A call of `PromptTransfers` as a message: the method's name and its arguments. */
export type TransferAsk = {
  readonly [Name in keyof PromptTransfers]: {
    readonly name: Name;
    readonly args: Parameters<PromptTransfers[Name]>;
  };
}[keyof PromptTransfers];

/** Result of a `PromptTransfers` call; null for calls without a result. */
export type TransferAnswer = HeldPrompt | Uint8Array | null;

export class IpcTransfers implements PromptTransfers {
  readonly #ask: (ask: TransferAsk) => Promise<TransferAnswer>;

  constructor(ask: (ask: TransferAsk) => Promise<TransferAnswer>) {
    this.#ask = ask;
  }

  async take(...args: Parameters<PromptTransfers["take"]>): Promise<HeldPrompt | null> {
    const answer = await this.#ask({ name: "take", args });
    assert(!(answer instanceof Uint8Array), "a taken prompt is described");
    return answer;
  }

  async read(...args: Parameters<PromptTransfers["read"]>): Promise<Uint8Array> {
    const answer = await this.#ask({ name: "read", args });
    assert(answer instanceof Uint8Array, "a read returns bytes");
    return answer;
  }

  async expect(...args: Parameters<PromptTransfers["expect"]>): Promise<void> {
    await this.#ask({ name: "expect", args });
  }

  async write(...args: Parameters<PromptTransfers["write"]>): Promise<void> {
    await this.#ask({ name: "write", args });
  }

  async drop(...args: Parameters<PromptTransfers["drop"]>): Promise<void> {
    await this.#ask({ name: "drop", args });
  }
}

/** Executes a call of `PromptTransfers` on the engine in this process. */
export async function answerTransfer(
  transfers: PromptTransfers | undefined,
  ask: TransferAsk,
): Promise<TransferAnswer> {
  if (transfers === undefined) {
    const message = "This engine neither holds prompts for other engines nor accepts theirs.";
    throw new ServiceError({ code: "unsupported", message });
  }
  switch (ask.name) {
    case "take":
      return transfers.take(...ask.args);
    case "read":
      return transfers.read(...ask.args);
    case "expect":
      await transfers.expect(...ask.args);
      return null;
    case "write":
      await transfers.write(...ask.args);
      return null;
    case "drop":
      await transfers.drop(...ask.args);
      return null;
    default:
      return unreachable(ask);
  }
}
