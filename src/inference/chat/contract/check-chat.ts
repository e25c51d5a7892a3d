// Contract tests that every chat must pass: the events that a completion emits, their order, and their totals. They do
// not check the answer's content.
import assert from "node:assert/strict";
import { test } from "node:test";
import type { ChatDelta } from "../../../base/domain/chat.ts";
import type { ChatService } from "../complete-chat.ts";
import { chatRequest, type RequestChanges } from "../testing/chat-request.ts";
import { CountedAllowance } from "../testing/counted-allowance.ts";
import { readCompletion, type CompletionRead } from "../testing/read-completion.ts";

export type Chat = Pick<ChatService, "begin">;

/**
 * Behaviour of the chat under test: `answers` completes every answer; `hangs` and `fails` hang or fail after the first
 * delta of the first choice.
 */
export type ChatBehaviour = "answers" | "hangs" | "fails";

const caller = {
  keyId: "k",
  entity: "acme",
  role: "member",
  owner: "o",
  scopes: null,
  project: null,
} as const;

/** Registers the tests that a chat must pass. */
export function checkChat(name: string, make: (behaviour: ChatBehaviour) => Promise<Chat>): void {
  test(`${name}: has a header, deltas with a finish on each choice's last, and the usage`, async () => {
    for (const count of [1, 3]) {
      const read = await complete(await make("answers"), { output: { choices: { kind: "sample", count } } });
      checkDeltas(read, count);
    }
  });

  test(`${name}: gives each token its log-probability if the header says so, and none otherwise`, async () => {
    for (const logprobs of [{ topCount: 2 }, null]) {
      const { header, deltas } = await complete(await make("answers"), { output: { logprobs } });
      assert.equal(header.logprobs, logprobs === null ? "off" : "text");
      for (const delta of deltas) {
        assert.equal(delta.logprobs.length, logprobs === null ? 0 : delta.tokenIds.length);
        for (const { alternatives } of delta.logprobs) assert.equal(alternatives.length, 2);
      }
    }
  });

  test(`${name}: ends a completion with an error on a signal, and begins none if it is already aborted`, async () => {
    const aborter = new AbortController();
    const { signal } = aborter;
    const chat = await make("hangs");
    const seen: ChatDelta[] = [];
    const { deltas } = await chat.begin(chatRequest(), caller, { signal });
    await assert.rejects(async () => {
      for await (const step of deltas) {
        seen.push(...step);
        aborter.abort(new Error("gone"));
      }
    });
    assert.equal(seen.length, 1);
    await assert.rejects(chat.begin(chatRequest(), caller, { signal }));
  });

  test(`${name}: ends the deltas with a located error, after the deltas before it`, async () => {
    const chat = await make("fails");
    const { signal } = new AbortController();
    const located = (error: unknown): Error => new Error("located", { cause: error });
    const completion = await chat.begin(chatRequest(), caller, { signal, located });
    const seen: ChatDelta[] = [];
    await assert.rejects(async () => {
      for await (const step of completion.deltas) seen.push(...step);
    }, /^Error: located$/);
    assert.equal(seen.length, 1);
    const aborted = AbortSignal.abort();
    await assert.rejects(chat.begin(chatRequest(), caller, { signal: aborted, located }), /^Error: located$/);
  });

  test(`${name}: yields no more deltas once a completion is left, whether or not any were read`, async () => {
    const chat = await make("answers");
    for (const readCount of [0, 1]) {
      const { signal } = new AbortController();
      const completion = await chat.begin(chatRequest(), caller, { signal });
      const deltas = completion.deltas[Symbol.asyncIterator]();
      for (let count = 0; count < readCount; count++) assert.equal((await deltas.next()).done, false);
      await completion.leave();
      assert.equal((await deltas.next()).done, true);
      await completion.leave();
    }
  });

  test(`${name}: reserves from the allowance and returns the unused rest, however it ends`, async () => {
    for (const behaviour of ["answers", "hangs", "fails"] as const) {
      const chat = await make(behaviour);
      const allowance = new CountedAllowance();
      const aborter = new AbortController();
      const request = chatRequest({ stopping: { maxTokens: 20 } });
      const completion = await chat.begin(request, caller, { signal: aborter.signal, allowance });
      assert.deepEqual([allowance.openCount, allowance.waitingCount], [1, 0]);
      assert.equal(allowance.reserved, completion.header.promptTokenIds.length + 20);
      const read = async (): Promise<void> => {
        for await (const _ of completion.deltas) if (behaviour === "hangs") aborter.abort(new Error("gone"));
      };
      if (behaviour === "answers") await read();
      else await assert.rejects(read());
      assert.equal(allowance.openCount, 0);
      assert.equal(allowance.used, completion.usage.promptTokens + completion.usage.completionTokens);
    }
    const left = new CountedAllowance();
    const { signal } = new AbortController();
    await (await (await make("hangs")).begin(chatRequest(), caller, { signal, allowance: left })).leave();
    assert.equal(left.openCount, 0);
    const refusal = new Error("no more tokens");
    const allowance = new CountedAllowance(refusal);
    const located = (error: unknown): Error => new Error("located", { cause: error });
    const refused = (await make("answers")).begin(chatRequest(), caller, { signal, allowance, located });
    await assert.rejects(refused, { message: "located", cause: refusal });
    assert.equal(allowance.waitingCount, 0);
  });
}

function complete(chat: Chat, changes: RequestChanges): Promise<CompletionRead> {
  const { signal } = new AbortController();
  return readCompletion(chat.begin(chatRequest(changes), caller, { signal }));
}

function checkDeltas({ header, deltas, usage: whole }: CompletionRead, choiceCount: number): void {
  assert.equal(whole.promptTokens, header.promptTokenIds.length);
  assert.deepEqual(deltas.at(-1)?.usage, whole);
  let tokenCount = 0;
  for (const { usage, tokenIds } of deltas) {
    tokenCount += tokenIds.length;
    assert.equal(usage.completionTokens, tokenCount, "usage is so far, over all choices");
  }
  for (let choice = 0; choice < choiceCount; choice++) checkChoice(deltas.filter((d) => d.choice === choice));
  assert.ok(deltas.every(({ choice }) => choice >= 0 && choice < choiceCount));
}

function checkChoice(deltas: readonly ChatDelta[]): void {
  let tokenCount = 0;
  for (const [index, { finish, choiceTokens, tokenIds, toolCalls }] of deltas.entries()) {
    tokenCount += tokenIds.length;
    assert.equal(choiceTokens, tokenCount);
    assert.equal(finish !== null, index === deltas.length - 1, "the finish is on the last delta");
    for (const call of toolCalls) {
      const isFirst = !deltas.slice(0, index).some((d) => d.toolCalls.some((c) => c.index === call.index));
      assert.equal(call.name !== undefined, isFirst, "a tool call is named by its first delta");
    }
  }
  assert.ok(deltas.length > 0, "every choice finishes");
}
