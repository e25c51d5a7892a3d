// Contract of the store for models that learn while they are used, and for their cycles.
import type { Page, PageRequest } from "../page.ts";
import type { CycleProgress, CycleStage, LearningCycle } from "./learning-cycle.ts";
import type { LearningOrder } from "./learning-order.ts";

/** A model that learns, and the key whose request turned learning on. */
export interface Learning {
  readonly modelId: string;
  readonly order: LearningOrder;
  /** Key with which the server sends its own requests to models, and the key's owner. */
  readonly keyId: string;
  readonly keyOwner: string;
  readonly createdAt: Date;
  readonly updatedAt: Date;
}

/** Result of the last check of a learning model. */
export interface LearningNotes {
  /** Number of new feedback records that a job would train on; null before they were counted. */
  readonly signalCount: number | null;
  /** Number of held-out prompts; null before they were counted. */
  readonly heldOutCount: number | null;
  /** Sentence that says why the last check failed; null if it succeeded. */
  readonly fault: string | null;
}

/** Proof that a server runs the learning of a model. Once another server runs it, a write with this proof fails. */
export interface LearningHold {
  readonly modelId: string;
  readonly owner: string;
}

/**
 * A recorded answer of the model. `hash` is the hash of its conversation, up to and including the answer. A later
 * request that continues the conversation is recognized by this hash.
 */
export interface AnsweredTurn {
  readonly hash: string;
  readonly requestId: string;
}

/** Cycle to store in the transaction that stores its job. */
export interface LearningOrigin {
  readonly hold: LearningHold;
  readonly cycle: LearningCycle;
}

export interface LearningStore {
  /**
   * Turns learning on, or replaces the settings. The cycle in progress keeps its settings. When learning is turned on,
   * chats that were recorded earlier are skipped.
   *
   * @throws ServiceError `not_found` if the model does not exist
   */
  put(learning: Learning): Promise<void>;
  find(modelId: string): Promise<(Learning & LearningNotes) | null>;
  /**
   * Turns learning off and ends the cycle in progress: a candidate is refused, and a promoted version stays. Returns
   * the ended cycle. Returns undefined if learning was off.
   */
  remove(modelId: string, at: Date): Promise<LearningCycle | null | undefined>;
  /**
   * Claims the models with learning for which no server with a lease is responsible. Returns all models for which this
   * server is now responsible.
   */
  claim(owner: string): Promise<readonly Learning[]>;
  /** Changes the model's learning notes. Does nothing if the hold is lost. */
  note(hold: LearningHold, notes: Partial<LearningNotes>): Promise<void>;
  /** Returns a model's newest cycle; null if there is none. */
  newestCycle(modelId: string): Promise<LearningCycle | null>;
  findCycle(id: string): Promise<LearningCycle | null>;
  listCycles(modelId: string, page: PageRequest): Promise<Page<LearningCycle>>;
  /**
   * Changes the progress of a cycle. In the same transaction, updates the candidate version for the new stage, and
   * adds the stage's webhook event if there is one. Before a promotion, checks that the newest version is still the
   * one from which the candidate was trained (otherwise, refuses the candidate); before a rollback, checks that the
   * promoted version is still the newest.
   *
   * @param from stage in which the cycle must be
   * @returns the stored cycle; null, without any change, if the hold is lost or the cycle is in another stage
   */
  advance(
    hold: LearningHold,
    cycle: Pick<LearningCycle, "id">,
    change: { readonly from: CycleStage; readonly progress: CycleProgress },
  ): Promise<LearningCycle | null>;
  /** Returns the number of the last recorded chat in which learning looked for replies; null if the hold is lost. */
  turnCursor(hold: LearningHold): Promise<number | null>;
  /**
   * Returns the turns with these hashes.
   *
   * @param hashes at most 200
   */
  findTurns(modelId: string, hashes: readonly string[]): Promise<readonly AnsweredTurn[]>;
  /**
   * Stores turns and moves the cursor. Keeps the newest `countMax` turns of the model. Does nothing if the hold is
   * lost.
   */
  addTurns(
    hold: LearningHold,
    cursor: number,
    turns: readonly AnsweredTurn[],
    limits: { readonly countMax: number },
  ): Promise<void>;
}
