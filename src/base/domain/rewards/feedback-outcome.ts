// Result of creating a job from feedback, for display: the answers on which the job trains, with their rewards, and
// the answers that are excluded.

export interface FeedbackOutcome {
  readonly counts: {
    /** Number of feedback records that the rule may read. */
    readonly feedback: number;
    readonly groups: number;
    /** Number of answers that are trained on. */
    readonly answers: number;
    readonly compared: number;
    readonly people: number;
    /** Number of tokens in the prompts and answers that are trained on. */
    readonly tokens: number;
    /** Number of excluded answers, by reason. */
    readonly leftOut: Readonly<Record<string, number>>;
  };
  /** Explanations of the reasons that occur. */
  readonly reasons: Readonly<Record<string, string>>;
  readonly groups: readonly { readonly prompt: string; readonly answers: readonly RewardedAnswer[] }[];
  readonly leftOut: readonly {
    readonly reference: string;
    readonly reason: string;
    readonly reward: number | null;
    readonly peopleCount: number;
    readonly feedbackCount: number;
  }[];
}

export interface RewardedAnswer {
  /** Reference of the answer. */
  readonly call: string;
  /** Beginning of the answer. */
  readonly text: string;
  readonly step: number;
  readonly reward: number;
  readonly peopleCount: number;
  /** Value of each term of the rule. */
  readonly terms: readonly ({ readonly value: number; readonly peopleCount: number } | null)[];
  readonly feedbackIds: readonly string[];
  readonly use: "trained" | "compared";
}
