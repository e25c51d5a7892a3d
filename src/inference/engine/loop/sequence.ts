// A sequence: one choice of a request inside the engine, with its tokens, its computed tokens and its slot. Choices of
// one request compute their prompt only once: one sequence leads, and the others follow and copy its keys and values at
// the end of the prompt. A sequence is data with simple queries; other modules compute and decide.
import {
  choiceCountOf,
  type FinishReason,
  type GenerationEvent,
  type GenerationRequest,
} from "../../../base/domain/generation.ts";
import { seededRandom, type Random } from "../../../base/domain/random.ts";
import type { ServiceError } from "../../../base/domain/service-error.ts";
import { BeamSearch, noCandidates, type Hypothesis, type Candidates } from "../beam/beam-search.ts";
import type { ConstraintCursor, PreparedConstraint } from "../token-masks/constraint-backend.ts";
import {
  drawRulesOf,
  type DrawRules,
  type ScoreProcessor,
  PromptTokens,
  TokenHistory,
} from "../logits/draw-input.ts";
import type { DrawBlocks } from "../logits/sampler.ts";
import type { LoadedAdapter } from "../model-runner.ts";
import type { ReceivedPrompt } from "../transfers/received-prompt.ts";

/** Receiver of the events of a request. */
export interface GenerationOutput {
  push(event: GenerationEvent): void;
  /** Ends the output with an error; no events follow. */
  fail(error: ServiceError): void;
  /** Called in every case, as soon as no further event can come. */
  end?(): void;
}

/** A submitted request that has not ended. */
export interface RunningRequest {
  readonly output: GenerationOutput;
  readonly request: GenerationRequest;
  /** Constraint on all choices of the request; null if unconstrained. */
  readonly constraint: PreparedConstraint | null;
  readonly rules: DrawRules;
  readonly prompt: PromptTokens;
  /**
   * Adapter; null for the base model. Set when the request first gets a slot, and then kept, so that the request ends
   * with the same weights with which it began.
   */
  adapter: LoadedAdapter | null;
  /** Beam search that produces the choices; null if the choices are sampled. */
  readonly search: BeamSearch | null;
  /**
   * Numbers of stopped choices in a beam search. Only the end of the search decides which beam becomes which choice.
   */
  readonly unwanted: Set<number>;
  /**
   * Sequences, one for each choice. In a beam search there is one for each beam, and only the end of the search decides
   * which beam becomes which choice.
   */
  readonly sequences: readonly Sequence[];
  /** Number of prompt tokens that were computed for this request. The other prompt tokens came from the cache. */
  computedPromptCount: number;
  /** The prompt's keys and values from another engine; null once they are copied into a slot, or if there are none. */
  received: ReceivedPrompt | null;
  /**
   * True if the store for transfers holds the prompt for another engine, false if that store had no room. Null before
   * the prompt is computed, and if the request does not ask to hold it.
   */
  isHeld: boolean | null;
  /** Number of prompt tokens whose log-probabilities have been emitted. */
  emittedLogprobCount: number;
  readonly submittedMs: number;
  /** Milliseconds from submission to the first slot; null before that. */
  waitedMs: number | null;
  /**
   * True once the event `prompt-computed` was emitted. The event must be emitted only once, although groups of choices
   * that run one after another compute the prompt again.
   */
  isPromptComputed: boolean;
}

/** Logits from which a token is drawn later, when the constraint's mask is ready. */
export interface HeldScores {
  readonly logits_V: Float32Array;
  readonly blocks: DrawBlocks;
}

/** Reason why a choice ended, and its stop token. */
export interface Finish {
  readonly reason: FinishReason;
  readonly stopTokenId: number | null;
}

export class Sequence {
  readonly running: RunningRequest;
  readonly choice: number;
  /** Number of sequences that arrived at the engine earlier. */
  readonly arrival: number;
  /** Random stream that only this sequence uses. */
  readonly random: Random;
  answerTokenIds: number[] = [];
  /** Tokens of the prompt and the answer, with their counts, from which draws compute penalties. */
  history: TokenHistory;
  /** Logits processors of the request, in the order in which the request names them. */
  processors: readonly ScoreProcessor[] = [];
  /**
   * Sequences of the same request that will start with a copy of this sequence's prompt. Until then they have no slots,
   * and nothing is computed for them.
   */
  followers: readonly Sequence[] = [];
  /** Number of tokens whose keys and values are in the slot, counted from the start of the prompt. */
  computedCount = 0;
  /** Scope within which the prompt reads and shares cached prefixes; null if the prompt does not read the cache. */
  prefixScope: string | null = null;
  /**
   * Number of leading tokens that the prompt shares with a cached prompt; 0 if unknown. A model with states saves its
   * states at this position, because other prompts are likely to branch off there too.
   */
  branchCount = 0;
  /** Slot in the lane; null if the sequence has none. Only the sequence's lane sets it. */
  slot: number | null = null;
  /**
   * Id of the lane in which the sequence has a slot, or in which its followers will have slots; null while it waits.
   * Followers are the other sequences with the same prompt.
   */
  placedIn: string | null = null;
  /** Position in the constraint while the sequence runs; null if unconstrained. */
  cursor: ConstraintCursor | null = null;
  /**
   * Logits of the next token, kept while the constraint's mask is late; null otherwise. Meanwhile the sequence does not
   * decode.
   */
  held: HeldScores | null = null;
  /** In a beam search: the live hypothesis whose tokens are in this sequence; null if there is none. */
  hypothesis: Hypothesis | null = null;
  /**
   * In a beam search: the possible next tokens; null until they are computed. Once set, the sequence does not decode
   * until all other sequences of its request have candidates too.
   */
  candidates: Candidates | null = null;
  /** True if the sequence needs no more tokens. The next sweep frees its slot. */
  isFinished = false;

  constructor(running: RunningRequest, choice: number, arrival: number) {
    this.running = running;
    this.choice = choice;
    this.arrival = arrival;
    this.random = seededRandom(running.request.sampling.seed, choice);
    this.history = new TokenHistory(running.prompt, this.answerTokenIds);
  }

  /** Key of the adapter, made from its id and hash; empty for the base model. */
  get adapterKey(): string {
    const { adapter } = this.running.request.prompt;
    return adapter === null ? "" : `${adapter.id} ${adapter.hash ?? ""}`;
  }

  /** Id of the sequence's lane. While the sequence waits, this is the id of its adapter's first lane. */
  get laneId(): string {
    return this.placedIn ?? this.adapterKey;
  }

  /** Priority; lower values run earlier. */
  get priority(): number {
    return this.running.request.priority;
  }

  /** Owner of the request. Owners get fair shares of the slots. */
  get owner(): string {
    return this.running.request.cacheOwner;
  }

  /** Tokens of the prompt. */
  get tokenIds(): readonly number[] {
    return this.running.request.prompt.tokenIds;
  }

  get tokenCount(): number {
    return this.tokenIds.length;
  }

  /** True if keys and values of all present tokens are computed, so that the next token can be drawn. */
  get isComputed(): boolean {
    return this.computedCount === this.tokenCount + this.answerTokenIds.length;
  }

  /**
   * True if the next step decodes the sequence. False while it waits for its constraint, or for other sequences of its
   * beam search.
   */
  get isDecoding(): boolean {
    return this.held === null && this.candidates === null;
  }

  /** True for a sequence of a beam search that has no live hypothesis. */
  get isFree(): boolean {
    return this.running.search !== null && this.hypothesis === null;
  }

  /** Token of the answer that the next step computes. */
  get inputTokenId(): number {
    return this.answerTokenIds[this.computedCount - this.tokenCount];
  }

  /** Maximum number of tokens that the sequence may have, prompt and answer together. */
  get positionCountMax(): number {
    const { prompt, stopping } = this.running.request;
    return prompt.tokenIds.length + stopping.maxTokens;
  }

  /** True if log-probabilities of the prompt are requested and some have not been emitted yet. */
  get needsLogprobs(): boolean {
    const { request, emittedLogprobCount } = this.running;
    return (
      request.outputs.promptLogprobCount !== null && emittedLogprobCount < request.prompt.tokenIds.length
    );
  }

  /** True if the request wants only its prompt's embedding. */
  get wantsEmbedding(): boolean {
    return this.running.request.outputs.embedding === true;
  }

  /** Number of slots that the sequence and its followers (the sequences that share its prompt) will need. */
  get slotCount(): number {
    return 1 + this.followers.length;
  }

  /** Forgets the computed keys and values. The tokens remain, and are computed again when the sequence next runs. */
  forgetComputed(): void {
    this.computedCount = 0;
    this.placedIn = null;
    this.held = null;
    if (this.hypothesis !== null) this.candidates = null;
    this.cursor?.close();
    this.cursor = null;
  }

  /**
   * Ends the hypothesis of this sequence. The computed keys and values stay, so that another hypothesis that begins
   * with the same tokens can reuse them.
   */
  dropHypothesis(): void {
    this.hypothesis = null;
    this.candidates = noCandidates;
    this.cursor?.close();
    this.cursor = null;
  }

  /** Copies the answer of another sequence, up to its last computed token. */
  copyAnswer({ answerTokenIds, computedCount }: Sequence): void {
    this.answerTokenIds = [...answerTokenIds];
    this.history = new TokenHistory(this.running.prompt, this.answerTokenIds);
    this.computedCount = computedCount;
  }

  /** Appends a drawn token. Returns how the token ends the choice, or null if the choice continues. */
  append(tokenId: number): Finish | null {
    const { rules, request } = this.running;
    this.answerTokenIds.push(tokenId);
    if (rules.stopTokenIds.has(tokenId)) return { reason: "stop", stopTokenId: tokenId };
    const isFull = this.answerTokenIds.length === request.stopping.maxTokens;
    return isFull ? { reason: "length", stopTokenId: null } : null;
  }
}

/**
 * Opens a request, with a sequence for each choice. At most `portion` sequences form a group: the first of them, the
 * leader, computes the prompt for all.
 *
 * @param options.arrival number of earlier sequences
 * @returns the request and the leaders of its groups
 */
export function openRequest(
  request: GenerationRequest,
  options: {
    readonly output: GenerationOutput;
    readonly constraint: PreparedConstraint | null;
    readonly processors: readonly ScoreProcessor[];
    readonly portion: number;
    readonly arrival: number;
    readonly submittedMs: number;
  },
): { readonly running: RunningRequest; readonly leaders: readonly Sequence[] } {
  const sequences: Sequence[] = [];
  const rules = drawRulesOf(request);
  const running: RunningRequest = {
    output: options.output,
    request,
    constraint: options.constraint,
    rules,
    search: searchOf(request, rules),
    unwanted: new Set(),
    prompt: new PromptTokens(request.prompt.tokenIds),
    adapter: null,
    sequences,
    computedPromptCount: 0,
    received: null,
    isHeld: null,
    emittedLogprobCount: 0,
    submittedMs: options.submittedMs,
    waitedMs: null,
    isPromptComputed: false,
  };
  for (let choice = 0; choice < choiceCountOf(request); choice++) {
    const sequence = new Sequence(running, choice, options.arrival + choice);
    sequence.processors = options.processors;
    sequences.push(sequence);
  }
  const leaders = sequences.filter(({ choice }) => choice % options.portion === 0);
  for (const leader of leaders) {
    leader.followers = sequences.slice(leader.choice + 1, leader.choice + options.portion);
  }
  if (running.search !== null) {
    for (const sequence of sequences) sequence.dropHypothesis();
    [leaders[0].hypothesis] = running.search.live;
    leaders[0].candidates = null;
  }
  return { running, leaders };
}

function searchOf({ choices, prompt, stopping }: GenerationRequest, rules: DrawRules): BeamSearch | null {
  if (choices.kind === "sample") return null;
  const { width, lengthPenalty } = choices;
  const { maxTokens } = stopping;
  const { stopTokenIds } = rules;
  return new BeamSearch({
    width,
    lengthPenalty,
    promptLength: prompt.tokenIds.length,
    maxTokens,
    stopTokenIds,
  });
}

/**
 * Returns the sequence that leads a group of sequences with the same prompt from now on: the first unfinished one, or
 * null if all are finished. A new leader has no slot until the lane hands the slot over.
 */
export function successorOf(leader: Sequence): Sequence | null {
  if (!leader.isFinished && !leader.followers.some(({ isFinished }) => isFinished)) return leader;
  const [first, ...others] = [leader, ...leader.followers].filter((sequence) => !sequence.isFinished);
  if (first === undefined) return null;
  first.followers = others;
  return first;
}
