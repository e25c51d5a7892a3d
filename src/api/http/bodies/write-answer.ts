// Sends long answers in pieces, no faster than the client reads them. Pauses between pieces, so that other answers wait
// for at most one piece. The bytes of answers in memory count towards the same budget as the bytes of bodies.
import type { FastifyReply } from "fastify";
import { loopTurns } from "../../../base/domain/sharing/loop-turns.ts";
import { jsonPieces, type TakeBytes } from "../../wire/json-text.ts";
import { sendPieces } from "../paced-answer.ts";
import { onResponseEnd } from "../request-lifecycle.ts";
import type { HttpSettings } from "../settings.ts";
import type { ByteBudget } from "./gather-body.ts";

/** Number of characters to write before each pause; writing them takes about a millisecond. */
const charactersBetweenPauses = 256 * 1024;

/** Sends the answer as JSON, in one piece if it is short, otherwise piece by piece. */
export function sendAnswer(
  reply: FastifyReply,
  answer: object,
  settings: Pick<HttpSettings, "idleStreamSeconds">,
): FastifyReply {
  reply.type("application/json; charset=utf-8");
  const buffers = buffersOf(jsonPieces(answer));
  const first = buffers.next();
  const second = buffers.next();
  if (first.done === true || second.done === true) return reply.send(first.value ?? Buffer.alloc(0));
  return sendPieces(
    reply,
    withPauses([first.value, second.value], buffers, reply.request.caller.entity),
    settings,
  );
}

function* buffersOf(pieces: Iterable<string | Uint8Array>): Generator<Uint8Array, undefined> {
  let text = "";
  for (const piece of pieces) {
    if (typeof piece === "string") text += piece;
    if (typeof piece === "string" && text.length < charactersBetweenPauses) continue;
    if (text !== "") yield Buffer.from(text);
    text = "";
    if (typeof piece !== "string") yield piece;
  }
  if (text !== "") yield Buffer.from(text);
}

async function* withPauses(
  begun: readonly Uint8Array[],
  rest: Iterable<Uint8Array>,
  tenant: string,
): AsyncGenerator<Uint8Array, void> {
  yield* begun;
  for (const piece of rest) {
    yield piece;
    await loopTurns.next(tenant);
  }
}

/**
 * Number of bytes of each answer that do not count towards the budget, so that large answers never cause the refusal of
 * a small one.
 */
const freeBytes = 1 << 20;

/**
 * Returns a function that counts an answer's bytes towards the share of the caller's entity. The bytes are released
 * when the request is over.
 */
export function answerBytes(reply: AnsweredReply, budget: ByteBudget): TakeBytes {
  const held = budget.forAnswer(reply.request.caller.entity, freeBytes);
  onResponseEnd(reply.raw, () => held.release());
  return (added) => held.add(added);
}

/** Members of a reply that {@link answerBytes} uses. */
interface AnsweredReply extends Pick<FastifyReply, "raw"> {
  readonly request: { readonly caller: { readonly entity: string } };
}
