// A sequence: one choice of a request while the engine has it, with its tokens, how many are computed, and where they
// are kept. Choices of one request share the computation of their prompt: one leads, and the others follow until it is
// computed and then copy it. Data with simple questions; nothing here computes or decides.
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
  /** Ends the output with an error; nothing follows. */
  fail(error: ServiceError): void;
  /** Called when nothing more comes, for any reason. */
  end?(): void;
}

/** A submitted request that has not ended. */
export interface RunningRequest {
  readonly output: GenerationOutput;
  readonly request: GenerationRequest;
  /** Constraint on its choices; null if unconstrained. */
  readonly constraint: PreparedConstraint | null;
  readonly rules: DrawRules;
  readonly prompt: PromptTokens;
  /**
   * Held from its first admission, so that the request ends on the weights that it began with; null for the base
   * model.
   */
  adapter: LoadedAdapter | null;
  /** Null if its choices are sampled. */
  readonly search: BeamSearch | null;
  /** Unwanted choices of a search, which are identified only at its end. */
  readonly unwanted: Set<number>;
  /** One for each choice; in a search one for each beam, whose choice is known only at the end. */
  readonly sequences: readonly Sequence[];
  /** Prompt tokens computed for it before the prompt was complete; the others came from the cache. */
  computedPromptCount: number;
  /** The prompt's keys and values from another engine, until they are in a slot. */
  received: ReceivedPrompt | null;
  /** True if the prompt is held for another engine; null before it is computed, and if not requested. */
  isHeld: boolean | null;
  /** Prompt tokens whose log-probabilities were emitted. */
  emittedLogprobCount: number;
  readonly submittedMs: number;
  /** Time from its submission to its first admission; null before that. */
  waitedMs: number | null;
  /** True once `prompt-computed` was emitted: choices that run in portions compute the prompt again. */
  isPromptComputed: boolean;
}

/** Scores kept until they can be drawn from. */
export interface HeldScores {
  readonly logits_V: Float32Array;
  readonly blocks: DrawBlocks;
}

/** Reason and details of a choice's own end. */
export interface Finish {
  readonly reason: FinishReason;
  readonly stopTokenId: number | null;
}

export class Sequence {
  readonly running: RunningRequest;
  readonly choice: number;
  /** Its rank among all sequences by arrival. */
  readonly arrival: number;
  /** Random stream of this sequence only. */
  readonly random: Random;
  answerTokenIds: number[] = [];
  /** Token history for its draws. */
  history: TokenHistory;
  /** Logits processors that its request asks for, in their order. */
  processors: readonly ScoreProcessor[] = [];
  /** Choices that start with a copy of this one's prompt; until then they hold no slots and do nothing. */
  followers: readonly Sequence[] = [];
  /** Tokens, from the first of the prompt, whose keys and values are in its slot. */
  computedCount = 0;
  /** Scope of prompts with which it shares computed prefixes; null if it shares nothing. */
  prefixScope: string | null = null;
  /** Written only by its lane; null while it has none. */
  slot: number | null = null;
  /** Lane of its adapter that it was given; null while it waits. */
  placedIn: string | null = null;
  /** Its state in its constraint while it runs; null if unconstrained. */
  cursor: ConstraintCursor | null = null;
  /** Scores of its next token while its constraint's mask is late; it is not computed meanwhile. */
  held: HeldScores | null = null;
  /** In a search: the live hypothesis that it holds, as its answer so far; null while it holds none. */
  hypothesis: Hypothesis | null = null;
  /** In a search: its possible next tokens; it is not computed until all others of its request know theirs. */
  candidates: Candidates | null = null;
  /** True if it wants no more tokens; it leaves its slot at the next sweep. */
  isFinished = false;

  constructor(running: RunningRequest, choice: number, arrival: number) {
    this.running = running;
    this.choice = choice;
    this.arrival = arrival;
    this.random = seededRandom(running.request.sampling.seed, choice);
    this.history = new TokenHistory(running.prompt, this.answerTokenIds);
  }

  /** Key of its adapter from its id and hash: empty for the base model. */
  get adapterKey(): string {
    const { adapter } = this.running.request.prompt;
    return adapter === null ? "" : `${adapter.id} ${adapter.hash ?? ""}`;
  }

  /** The lane that it is in; while it waits, the first one of its adapter. */
  get laneId(): string {
    return this.placedIn ?? this.adapterKey;
  }

  /** Lower is earlier. */
  get priority(): number {
    return this.running.request.priority;
  }

  /** Owner among whom turns are shared. */
  get owner(): string {
    return this.running.request.cacheOwner;
  }

  /** Tokens of its prompt. */
  get tokenIds(): readonly number[] {
    return this.running.request.prompt.tokenIds;
  }

  get tokenCount(): number {
    return this.tokenIds.length;
  }

  /** True if every token that it has is computed: the next one can be drawn. */
  get isComputed(): boolean {
    return this.computedCount === this.tokenCount + this.answerTokenIds.length;
  }

  /** True if the next step computes it: it waits neither for its constraint nor for others of its search. */
  get isDecoding(): boolean {
    return this.held === null && this.candidates === null;
  }

  /** True if it is a beam's row without a live hypothesis. */
  get isFree(): boolean {
    return this.running.search !== null && this.hypothesis === null;
  }

  /** Token of its answer to compute next. */
  get inputTokenId(): number {
    return this.answerTokenIds[this.computedCount - this.tokenCount];
  }

  /** Maximum tokens that it may hold. */
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

  /** Slots that it and its followers will need. */
  get slotCount(): number {
    return 1 + this.followers.length;
  }

  /** Discards its computed entries but keeps its tokens; they are computed again when it runs again. */
  forgetComputed(): void {
    this.computedCount = 0;
    this.placedIn = null;
    this.held = null;
    if (this.hypothesis !== null) this.candidates = null;
    this.cursor?.close();
    this.cursor = null;
  }

  /** Drops its live hypothesis. Its computed entries stay for another hypothesis to start with. */
  dropHypothesis(): void {
    this.hypothesis = null;
    this.candidates = noCandidates;
    this.cursor?.close();
    this.cursor = null;
  }

  /** Copies another's answer, as far as that is computed. */
  copyAnswer({ answerTokenIds, computedCount }: Sequence): void {
    this.answerTokenIds = [...answerTokenIds];
    this.history = new TokenHistory(this.running.prompt, this.answerTokenIds);
    this.computedCount = computedCount;
  }

  /** Appends a drawn token; returns how the choice ends with it, or null if it continues. */
  append(tokenId: number): Finish | null {
    const { rules, request } = this.running;
    this.answerTokenIds.push(tokenId);
    if (rules.stopTokenIds.has(tokenId)) return { reason: "stop", stopTokenId: tokenId };
    const isFull = this.answerTokenIds.length === request.stopping.maxTokens;
    return isFull ? { reason: "length", stopTokenId: null } : null;
  }
}

/**
 * Opens a request with a sequence for each choice. In each group of `portion` sequences one leads and the others
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
 * Returns the first unfinished sequence of a leader and its followers, followed by the other unfinished ones; null if
 * there is none. It gets the slot only when its lane hands it over.
 */
export function successorOf(leader: Sequence): Sequence | null {
  if (!leader.isFinished && !leader.followers.some(({ isFinished }) => isFinished)) return leader;
  const [first, ...others] = [leader, ...leader.followers].filter((sequence) => !sequence.isFinished);
  if (first === undefined) return null;
  first.followers = others;
  return first;
}
