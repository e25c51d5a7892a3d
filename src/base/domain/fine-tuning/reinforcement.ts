// Progress of a reinforcement fine-tuning job, from which any server can continue it.

/** One step: the training job on the answers that were sampled, and the version that this job made. */
export interface ReinforcementStep {
  readonly trainingJobId: string;
  /** Step of the version; null until the training job has succeeded. */
  readonly version: number | null;
  /** Numbers of the step by name, such as the mean reward of its answers. */
  readonly metrics: Readonly<Record<string, number>>;
}

export interface ReinforcementEvent {
  readonly at: string;
  readonly level: "info" | "warn" | "error";
  readonly message: string;
  /** Numbers that the event reports; null if it only has a message. */
  readonly data: Readonly<Record<string, number>> | null;
}

export interface ReinforcementProgress {
  /** Total number of steps. */
  readonly stepCountTotal: number;
  readonly steps: readonly ReinforcementStep[];
  /** Events of the job, oldest first. */
  readonly events: readonly ReinforcementEvent[];
}
