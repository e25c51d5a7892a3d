// Entry point of a mask thread, which compiles constraints and computes masks in parallel with the model. It alternates
// between computing all requested masks and compiling one constraint, so that neither kind of work delays the other for
// long. It runs until it is terminated, and sleeps while there is no work.
import { setPriority } from "node:os";
import { parentPort, receiveMessageOnPort, workerData } from "node:worker_threads";
import { assert, present } from "../../../base/domain/assert.ts";
import type { Constraint } from "../../../base/domain/constraint.ts";
import { unpackVocabulary } from "../../../base/domain/vocabulary.ts";
import { constraintBase } from "../../../lib/constraints/grammar/constraint-base.ts";
import { readLanguage } from "../../../lib/constraints/grammar/language.ts";
import { CompiledConstraint, type Matcher } from "../../../lib/constraints/grammar/matcher.ts";
import { buildTokenTrie } from "../../../lib/constraints/grammar/trie/token-trie.ts";
import { ConstraintRefusal } from "../../../lib/constraints/regex/limits.ts";
import { ConstraintCache, type CachedConstraint } from "./constraint-cache.ts";
import { MaskBoard } from "./mask-board.ts";
import type { MaskAnswer, MaskRequest, MaskThreadData, Refusal } from "./mask-protocol.ts";
import { SharedSignals } from "./shared-signals.ts";

/** A place on the board, and the constraint of the choice that has the place. */
interface Place {
  readonly place: number;
  readonly constraint: CachedConstraint;
  readonly matcher: Matcher;
  /** Number of the place's latest turn (request for a mask) whose token this thread has processed. */
  movedAt: number;
}

const port = present(parentPort, "the port of the engine's thread");
// Safe cast: the engine's thread sets this data.
const data = workerData as MaskThreadData;
// Only Linux can set the priority of a single thread.
if (process.platform === "linux") setPriority(data.niceness);
const trie = buildTokenTrie({ bytes: unpackVocabulary(data.vocabulary) });
const board = new MaskBoard(data.placeCount, Math.ceil(trie.tokenCount / 32), data.board);
const signals = new SharedSignals(data.signals);
const cache = new ConstraintCache(data.cacheBytesMax / data.threadCount);
const waiting = new Map<number, Constraint>();
const prepared = new Map<number, CachedConstraint>();
const places = new Map<number, Place>();

// Runs at the start of the thread, so that the first request need not wait for it.
constraintBase();
warmUp();

for (;;) {
  const { ringCount } = signals;
  takeRequests();
  const wasBusy = computeMasks();
  if (!prepareOne() && !wasBusy) signals.sleepSince(ringCount);
}

/** Runs the code that every constraint needs once, so that V8 has compiled it. Keeps no result. */
function warmUp(): void {
  const options = { allowsAnyWhitespace: true, whitespacePattern: null, allowsAdditionalProperties: true };
  refusalOf(() => {
    const language = readLanguage({ kind: "json-object", ...options }, data.limits);
    const mask = new Uint32Array(Math.ceil(trie.tokenCount / 32));
    new CompiledConstraint(language, trie).matcher().mask(mask);
  });
}

function takeRequests(): void {
  for (;;) {
    // Safe cast: only the engine's thread sends messages here.
    const received: { readonly message: MaskRequest } | undefined = receiveMessageOnPort(port);
    if (received === undefined) return;
    takeRequest(received.message);
  }
}

function takeRequest(request: MaskRequest): void {
  switch (request.kind) {
    case "prepare":
      return void waiting.set(request.key, request.constraint);
    case "release": {
      waiting.delete(request.key);
      const constraint = prepared.get(request.key);
      prepared.delete(request.key);
      if (constraint !== undefined) cache.giveBack(constraint);
      return;
    }
    case "open": {
      const constraint = present(prepared.get(request.key), "a constraint that is opened is prepared");
      const { place, turn, tokenIds } = request;
      const matcher = constraint.compiled.matcher();
      // The last token on the board may belong to the choice that had the place before, so it counts as processed.
      const opened = { place, constraint, matcher, movedAt: board.lastMove(place).turn };
      places.set(place, opened);
      return compute(opened, turn, tokenIds);
    }
    case "close":
      return void places.delete(request.place);
  }
}

/** Computes the mask of each choice that got a new token. Returns true if there was any. */
function computeMasks(): boolean {
  let hasComputed = false;
  for (const place of places.values()) {
    const { turn, tokenId } = board.lastMove(place.place);
    if (turn === place.movedAt) continue;
    place.movedAt = turn;
    compute(place, turn, [tokenId]);
    hasComputed = true;
  }
  return hasComputed;
}

/** Adds tokens to the choice at a place. Writes the next mask, or the reason why the mask cannot be computed. */
function compute({ place, constraint, matcher }: Place, turn: number, tokenIds: readonly number[]): void {
  const refusal = refusalOf(() => {
    assert(
      tokenIds.every((id) => matcher.accept(id)),
      "tokens that are drawn were allowed",
    );
    matcher.mask(board.maskOf(place));
    if (!cache.measure(constraint)) throw noRoom();
  });
  if (refusal !== null) {
    // The constraint has used up its limit of states. It is removed from the cache, so that the next request compiles
    // it again.
    cache.forget(constraint);
    answer({ kind: "failed", place, turn, refusal });
    board.finish(place, turn, "failed");
  } else board.finish(place, turn, matcher.mayEnd ? "may-end" : "goes-on");
  signals.finish(cache.counts);
}

/** Compiles the constraint that has waited longest. Returns false if no constraint waits. */
function prepareOne(): boolean {
  for (const [key, constraint] of waiting) {
    waiting.delete(key);
    const compile = () => new CompiledConstraint(readLanguage(constraint, data.limits), trie);
    const refusal = refusalOf(() => void prepared.set(key, cache.take(JSON.stringify(constraint), compile)));
    const notices = prepared.get(key)?.compiled.language.notices ?? [];
    answer({ kind: "prepared", key, outcome: refusal ?? { notices } });
    signals.finish(cache.counts);
    return true;
  }
  return false;
}

function refusalOf(run: () => void): Refusal | null {
  try {
    run();
    return null;
  } catch (error) {
    if (!(error instanceof ConstraintRefusal)) throw error;
    return { message: error.message, subject: error.subject };
  }
}

function noRoom(): ConstraintRefusal {
  return new ConstraintRefusal({
    kind: "limit",
    subject: "cacheBytes",
    place: "",
    message:
      `The constraints of all running requests exceed the limit cacheBytes of ${data.cacheBytesMax}, and this ` +
      "one is the largest. Make it simpler, try again later or raise the limit.",
  });
}

function answer(message: MaskAnswer): void {
  port.postMessage(message, []);
}
