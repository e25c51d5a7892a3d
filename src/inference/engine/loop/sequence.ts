// A sequence: one choice of a request while the engine has it, with its tokens, the number of computed tokens, and
// their location. Choices of one request share the computation of their prompt: one leads, and the others follow until
// the prompt is computed and then copy it. A sequence is data with simple queries; this module computes and decides
// nothing.
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

/** Receiver of a request's events. */
export interface GenerationOutput {
  push(event: GenerationEvent): void;
  /** Ends the output with an error; no events follow. */
  fail(error: ServiceError): void;
  /** Called when no more events come, for any reason. */
  end?(): void;
}

/** A submitted request that has not ended. */
export interface RunningRequest {
  readonly output: GenerationOutput;
  readonly request: GenerationRequest;
  /** Constraint on the request's choices; null if unconstrained. */
  readonly constraint: PreparedConstraint | null;
  readonly rules: DrawRules;
  readonly prompt: PromptTokens;
  /**
   * Adapter, held from the first admission, so that the request ends on the weights that it began with; null for the
   * base model.
   */
  adapter: LoadedAdapter | null;
  /** Beam search over the choices; null if the choices are sampled. */
  readonly search: BeamSearch | null;
  /** Stopped choices of a search, which are matched to beams only at its end. */
  readonly unwanted: Set<number>;
  /** Sequences, one for each choice. In a search there is one for each beam, whose choice is known only at the end. */
  readonly sequences: readonly Sequence[];
  /** Number of prompt tokens that were computed before the prompt was complete; the others came from the cache. */
  computedPromptCount: number;
  /** The prompt's keys and values from another engine, until they are copied into a slot. */
  received: ReceivedPrompt | null;
  /** True if the prompt is held for another engine; null before the prompt is computed, and if not requested. */
  isHeld: boolean | null;
  /** Number of prompt tokens whose log-probabilities were emitted. */
  emittedLogprobCount: number;
  readonly submittedMs: number;
  /** Time from submission to first admission; null before the first admission. */
  waitedMs: number | null;
  /** True once `prompt-computed` was emitted, because choices that run in portions compute the prompt again. */
  isPromptComputed: boolean;
}

/** Logits kept until a token can be drawn from them. */
export interface HeldScores {
  readonly logits_V: Float32Array;
  readonly blocks: DrawBlocks;
}

/** Reason and details of the end of a choice. */
export interface Finish {
  readonly reason: FinishReason;
  readonly stopTokenId: number | null;
}

export class Sequence {
  readonly running: RunningRequest;
  readonly choice: number;
  /** Number of sequences that arrived earlier. */
  readonly arrival: number;
  /** Random stream of this sequence only. */
  readonly random: Random;
  answerTokenIds: number[] = [];
  /** Token history for its draws. */
  history: TokenHistory;
  /** Logits processors that the request asks for, in their order. */
  processors: readonly ScoreProcessor[] = [];
  /** Sequences that start with a copy of this one's prompt; until then they hold no slots and are not computed. */
  followers: readonly Sequence[] = [];
  /** Number of tokens, from the start of the prompt, whose keys and values are in the slot. */
  computedCount = 0;
  /** Scope within which the prompt shares cached prefixes; null if the prompt may not share cache entries. */
  prefixScope: string | null = null;
  /**
   * Number of tokens, from the start of the prompt, that the prompt shares with a cached one; 0 if unknown. A model
   * with states saves its state there, where other prompts are likely to branch off too.
   */
  branchCount = 0;
  /** Slot, set only by the sequence's lane; null without a slot. */
  slot: number | null = null;
  /** Id of the lane in which the sequence is placed, one of its adapter's lanes; null while the sequence waits. */
  placedIn: string | null = null;
  /** State of the constraint while the sequence runs; null if unconstrained. */
  cursor: ConstraintCursor | null = null;
  /** Logits of the next token while the constraint's mask is late. The sequence is not computed meanwhile. */
  held: HeldScores | null = null;
  /** In a search: the live hypothesis that this sequence holds as its answer so far; null if it holds none. */
  hypothesis: Hypothesis | null = null;
  /**
   * In a search: the possible next tokens. The sequence is not computed until all others of its request have
   * candidates too.
   */
  candidates: Candidates | null = null;
  /** True if the sequence needs no more tokens; it leaves its slot at the next sweep. */
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

  /** Id of the sequence's lane; while the sequence waits, the id of its adapter's first lane. */
  get laneId(): string {
    return this.placedIn ?? this.adapterKey;
  }

  /** Priority; lower values run earlier. */
  get priority(): number {
    return this.running.request.priority;
  }

  /** Owner for fair shares. */
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

  /** True if all present tokens are computed, so that the next one can be drawn. */
  get isComputed(): boolean {
    return this.computedCount === this.tokenCount + this.answerTokenIds.length;
  }

  /**
   * True if the next step computes the sequence: it waits neither for its constraint nor for other sequences of its
   * search.
   */
  get isDecoding(): boolean {
    return this.held === null && this.candidates === null;
  }

  /** True if the sequence is a beam's row without a live hypothesis. */
  get isFree(): boolean {
    return this.running.search !== null && this.hypothesis === null;
  }

  /** Token of the answer to compute next. */
  get inputTokenId(): number {
    return this.answerTokenIds[this.computedCount - this.tokenCount];
  }

  /** Maximum number of tokens that the sequence may hold. */
  get positionCountMax(): number {
    const { prompt, stopping } = this.running.request;
    return prompt.tokenIds.length + stopping.maxTokens;
  }

  /** True if log-probabilities of the prompt are wanted and not all emitted. */
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

  /** Number of slots that the sequence and its followers will need. */
  get slotCount(): number {
    return 1 + this.followers.length;
  }

  /** Discards the computed entries but keeps the tokens, which are computed again when the sequence runs again. */
  forgetComputed(): void {
    this.computedCount = 0;
    this.placedIn = null;
    this.held = null;
    if (this.hypothesis !== null) this.candidates = null;
    this.cursor?.close();
    this.cursor = null;
  }

  /** Drops the live hypothesis. Computed entries stay, so that another hypothesis can start with them. */
  dropHypothesis(): void {
    this.hypothesis = null;
    this.candidates = noCandidates;
    this.cursor?.close();
    this.cursor = null;
  }

  /** Copies another sequence's answer, up to its last computed token. */
  copyAnswer({ answerTokenIds, computedCount }: Sequence): void {
    this.answerTokenIds = [...answerTokenIds];
    this.history = new TokenHistory(this.running.prompt, this.answerTokenIds);
    this.computedCount = computedCount;
  }

  /** Appends a drawn token; returns how the token ends the choice, or null if the choice continues. */
  append(tokenId: number): Finish | null {
    const { rules, request } = this.running;
    this.answerTokenIds.push(tokenId);
    if (rules.stopTokenIds.has(tokenId)) return { reason: "stop", stopTokenId: tokenId };
    const isFull = this.answerTokenIds.length === request.stopping.maxTokens;
    return isFull ? { reason: "length", stopTokenId: null } : null;
  }
}

/**
 * Opens a request with a sequence for each choice. In each group of `portion` sequences, one leads and the others
 * follow.
 *
 * @param options.arrival number of earlier sequences
 * @returns the request and its leaders
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
 * Returns the unfinished sequences of a leader and its followers, as the first one with the others as its followers;
 * null if all are finished. The first one gets the slot only when its lane hands it over.
 */
export function successorOf(leader: Sequence): Sequence | null {
  if (!leader.isFinished && !leader.followers.some(({ isFinished }) => isFinished)) return leader;
  const [first, ...others] = [leader, ...leader.followers].filter((sequence) => !sequence.isFinished);
  if (first === undefined) return null;
  first.followers = others;
  return first;
}
