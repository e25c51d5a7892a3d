// What the demo teaches, as data: questions to practise on, questions to test with, what answers earn, and the sizes that
// suit it. A task knows neither the server nor the screen.
import type { Random } from "../../../../base/domain/random.ts";
import type { Message } from "../../../client/api.ts";

/** A question, and what an answer to it earns. */
export interface Question {
  readonly messages: readonly Message[];
  /** What tells it from the task's others: what a screen has room for. */
  readonly text: string;
  /** The reward of an answer, in [0, 1]. */
  readonly judge: (answer: string) => number;
}

/** A conversation as somebody who knows the way would have it. */
export interface Lesson {
  readonly messages: readonly Message[];
}

export interface DemoTask {
  readonly name: string;
  /** What is taught, as a sentence goes on behind "Teaching the model to". */
  readonly aim: string;
  /** What the test's questions are, such as "held-out". */
  readonly testedOn: string;
  /** What is taught by one supervised job before any practice. */
  readonly lessons?: {
    readonly draw: (random: Random) => readonly Lesson[];
    readonly learningRate: number;
    /** Lessons of an optimizer step. */
    readonly batchSize: number;
  };
  /** The questions of a job: new ones each time, or always the same. */
  readonly practice: (random: Random) => readonly Question[];
  /** The questions that are asked before and after every job, answered without chance. */
  readonly test: readonly Question[];
  readonly sampling: {
    /** Answers to each question that is practised on. */
    readonly groupSize: number;
    readonly temperature: number;
    readonly answerTokensMax: number;
  };
  readonly training: {
    readonly learningRate: number;
    /** Answers of an optimizer step; null takes a step for every one. */
    readonly batchSize: number | null;
    /** How many jobs it is given, the lessons' included. */
    readonly jobCountMax: number;
  };
  /** What counts as learned. */
  readonly targets: { readonly sampledReward: number; readonly testReward: number };
  readonly curve: {
    readonly of: "sampledReward" | "testReward";
    readonly title: string;
    /** The least value that it has room for. */
    readonly from: number;
  };
  /** How many of the test's answers are shown before and after. */
  readonly shownCount: number;
}
