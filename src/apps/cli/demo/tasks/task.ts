// A task of the demo as data: practice and test questions, rewards, and suitable training settings. This module uses
// neither the server nor the screen.
import type { Random } from "../../../../base/domain/random.ts";
import type { Message } from "../../../client/api.ts";

/** A question, with a function that computes the reward of an answer. */
export interface Question {
  readonly messages: readonly Message[];
  /** Short form of the question, for the screen. */
  readonly text: string;
  /** Returns the reward of an answer, in [0, 1]. */
  readonly judge: (answer: string) => number;
}

/** A conversation that ends with an expert's answer. */
export interface Lesson {
  readonly messages: readonly Message[];
}

export interface DemoTask {
  readonly name: string;
  /** Goal of the task, as the end of the sentence "Teaching the model to …". */
  readonly aim: string;
  /** Rewards that answers can earn, as the end of the sentence "Rewards: …". */
  readonly scoring: string;
  /** Label of the test result in the progress output, such as "held-out". */
  readonly testedOn: string;
  /** Lessons for one supervised job, which runs before all RL jobs. */
  readonly lessons?: {
    readonly draw: (random: Random) => readonly Lesson[];
    readonly learningRate: number;
    /** Number of lessons per optimizer step. */
    readonly batchSize: number;
  };
  /** Returns the practice questions for one job. A task may draw new questions each time or always use the same. */
  readonly practice: (random: Random) => readonly Question[];
  /** Test questions, answered greedily before the first job and after each job. */
  readonly test: readonly Question[];
  readonly sampling: {
    /** Number of answers per practice question. */
    readonly groupSize: number;
    readonly temperature: number;
    readonly answerTokensMax: number;
  };
  readonly training: {
    readonly learningRate: number;
    /** Number of answers per optimizer step; null for one answer per step. */
    readonly batchSize: number | null;
    /** Maximum number of jobs, including the supervised job for the lessons. */
    readonly jobCountMax: number;
  };
  /** Minimum rewards at which the model counts as having learned the task. */
  readonly targets: { readonly sampledReward: number; readonly testReward: number };
  readonly curve: {
    readonly of: "sampledReward" | "testReward";
    readonly title: string;
    /** Minimum of the value axis. */
    readonly from: number;
  };
  /** Number of test questions whose answers are shown before and after training. */
  readonly shownCount: number;
}
