// The contract of every chat: what a completion emits, in which order, and what it adds up to. Says nothing of what is
// answered.
import assert from "node:assert/strict";
import { test } from "node:test";
import type { ChatDelta, ChatEvent } from "../../domain/chat.ts";
import type { ChatService } from "../complete-chat.ts";
import { chatRequest, type RequestChanges } from "../testing/chat-request.ts";

export type Chat = Pick<ChatService, "complete">;

/** `answers` completes; the others do so after the first delta of the first choice. */
export type ChatBehaviour = "answers" | "hangs" | "fails";

const caller = { keyId: "k", entity: "acme", role: "member", owner: "o" } as const;

/** Registers the tests that a chat must pass. */
export function checkChat(name: string, make: (behaviour: ChatBehaviour) => Promise<Chat>): void {
  test(`${name}: emits one header, deltas with a finish on each choice's last, and the usage`, async () => {
    for (const count of [1, 3]) {
      const events = await collect(await make("answers"), { output: { choices: { kind: "sample", count } } });
      checkEvents(events, count);
    }
  });

  test(`${name}: every token has its log-probability where the header says so, and none elsewhere`, async () => {
    for (const logprobs of [{ topCount: 2 }, null]) {
      const events = await collect(await make("answers"), { output: { logprobs } });
      const [first] = events;
      assert.ok(first?.kind === "header");
      assert.equal(first.header.logprobs, logprobs === null ? "off" : "text");
      for (const delta of deltasOf(events)) {
        assert.equal(delta.logprobs.length, logprobs === null ? 0 : delta.tokenIds.length);
        for (const { alternatives } of delta.logprobs) assert.equal(alternatives.length, 2);
      }
    }
  });

  test(`${name}: a signal ends a completion with an error, and one that is aborted already starts none`, async () => {
    const aborter = new AbortController();
    const chat = await make("hangs");
    const seen: ChatEvent["kind"][] = [];
    const run = async (): Promise<void> => {
      for await (const event of chat.complete(chatRequest(), caller, { signal: aborter.signal })) {
        seen.push(event.kind);
        if (event.kind === "delta") aborter.abort(new Error("gone"));
      }
    };
    await assert.rejects(run());
    assert.deepEqual(seen, ["header", "delta"]);
    seen.length = 0;
    await assert.rejects(run());
    assert.deepEqual(seen, []);
  });

  test(`${name}: an error ends the events after those before it`, async () => {
    const chat = await make("fails");
    const seen: ChatEvent["kind"][] = [];
    await assert.rejects(async () => {
      const { signal } = new AbortController();
      for await (const event of chat.complete(chatRequest(), caller, { signal })) seen.push(event.kind);
    });
    assert.deepEqual(seen, ["header", "delta"]);
  });
}

async function collect(chat: Chat, changes: RequestChanges): Promise<readonly ChatEvent[]> {
  const { signal } = new AbortController();
  const events: ChatEvent[] = [];
  for await (const event of chat.complete(chatRequest(changes), caller, { signal })) events.push(event);
  return events;
}

function deltasOf(events: readonly ChatEvent[]): readonly ChatDelta[] {
  return events.filter((event) => event.kind === "delta");
}

function checkEvents(events: readonly ChatEvent[], choiceCount: number): void {
  const [first] = events;
  const last = events.at(-1);
  assert.ok(first?.kind === "header" && last?.kind === "usage");
  const deltas = deltasOf(events);
  assert.equal(deltas.length, events.length - 2, "one header and one usage");
  assert.equal(last.usage.promptTokens, first.header.promptTokenIds.length);
  assert.deepEqual(deltas.at(-1)?.usage, last.usage);
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
