// A task of the demo as data: practice and test questions, rewards, and suitable sizes. Knows neither server nor
// screen.
import type { Random } from "../../../../base/domain/random.ts";
import type { Message } from "../../../client/api.ts";

/** A question with the reward of its answers. */
export interface Question {
  readonly messages: readonly Message[];
  /** Short text that identifies the question on a screen. */
  readonly text: string;
  /** Returns the reward of an answer, in [0, 1]. */
  readonly judge: (answer: string) => number;
}

/** A conversation with an expert's answer. */
export interface Lesson {
  readonly messages: readonly Message[];
}

export interface DemoTask {
  readonly name: string;
  /** Goal of the task, to complete "Teaching the model to". */
  readonly aim: string;
  /** Description of the test, such as "right answers to held-out texts". */
  readonly testedOn: string;
  /** Lessons for one supervised job before practice. */
  readonly lessons?: {
    readonly draw: (random: Random) => readonly Lesson[];
    readonly learningRate: number;
    /** Lessons per optimizer step. */
    readonly batchSize: number;
  };
  /** Returns the questions of a job: new ones each time, or always the same. */
  readonly practice: (random: Random) => readonly Question[];
  /** Questions answered greedily before and after every job. */
  readonly test: readonly Question[];
  readonly sampling: {
    /** Answers per practice question. */
    readonly groupSize: number;
    readonly temperature: number;
    readonly answerTokensMax: number;
  };
  readonly training: {
    readonly learningRate: number;
    /** Answers per optimizer step; null for one optimizer step per answer. */
    readonly batchSize: number | null;
    /** Maximum number of jobs, including the lessons. */
    readonly jobCountMax: number;
  };
  /** Rewards at which the task counts as learned. */
  readonly targets: { readonly sampledReward: number; readonly testReward: number };
  readonly curve: {
    readonly of: "sampledReward" | "testReward";
    readonly title: string;
    /** Minimum of the value axis. */
    readonly from: number;
  };
  /** Number of test answers shown before and after. */
  readonly shownCount: number;
}
