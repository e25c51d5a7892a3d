// What comes of feedback for a job, as it is shown: which answers train with which rewards, and which do not.

export interface FeedbackOutcome {
  readonly counts: {
    /** Records that the rule may read. */
    readonly feedback: number;
    readonly groups: number;
    /** That train. */
    readonly answers: number;
    readonly compared: number;
    readonly people: number;
    /** Of the prompts and answers that train. */
    readonly tokens: number;
    /** By reason. */
    readonly leftOut: Readonly<Record<string, number>>;
  };
  /** What the reasons mean that there are. */
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
  /** Its reference. */
  readonly call: string;
  /** How it begins. */
  readonly text: string;
  readonly step: number;
  readonly reward: number;
  readonly peopleCount: number;
  /** Of each term of the rule. */
  readonly terms: readonly ({ readonly value: number; readonly peopleCount: number } | null)[];
  readonly feedbackIds: readonly string[];
  readonly use: "trained" | "compared";
}
