// The parts of the API's answers that this client reads, in the API's own spelling. The server may send more.

/** A call of a tool, as an answer holds it and as it is sent back. */
export interface ToolCall {
  readonly id: string;
  readonly type: "function";
  /** `arguments` is JSON, as the model wrote it: it may be broken. */
  readonly function: { readonly name: string; readonly arguments: string };
}

/** A function that the model may call; `parameters` is a JSON Schema of an object. */
export interface Tool {
  readonly type: "function";
  readonly function: {
    readonly name: string;
    readonly description?: string;
    readonly parameters?: Readonly<Record<string, unknown>>;
  };
}

/** A message of a conversation, as sent and as answered. */
export interface Message {
  readonly role: string;
  readonly content: string | null;
  /** Of the assistant. */
  readonly tool_calls?: readonly ToolCall[];
  /** Of a tool's result: the call that it answers. */
  readonly tool_call_id?: string;
}

/** What a chat request may hold; any other field of the interface passes through. */
export interface ChatBody {
  readonly model?: string;
  readonly messages: readonly Message[];
  readonly tools?: readonly Tool[];
  readonly tool_choice?: "none" | "auto" | "required";
  readonly parallel_tool_calls?: boolean;
  readonly n?: number;
  readonly temperature?: number;
  readonly top_p?: number;
  readonly max_tokens?: number;
  readonly seed?: number;
  readonly stop?: string | readonly string[];
  readonly logprobs?: boolean;
  readonly top_logprobs?: number;
  readonly return_token_ids?: boolean;
}

/** One reply; send it back whole in a trajectory, and its exact tokens train. */
export interface Choice {
  readonly index: number;
  readonly message: Message;
  readonly finish_reason: string;
  readonly logprobs: {
    readonly content: readonly { readonly token: string; readonly logprob: number }[] | null;
  } | null;
  readonly token_ids?: readonly number[] | null;
  readonly prompt_token_ids?: readonly number[] | null;
}

export interface ChatAnswer {
  readonly id: string;
  readonly model: string;
  readonly choices: readonly Choice[];
  readonly usage: {
    readonly prompt_tokens: number;
    readonly completion_tokens: number;
    readonly total_tokens: number;
  };
}

export interface ChatChunk {
  readonly id: string;
  readonly choices: readonly {
    readonly index: number;
    readonly delta: { readonly role?: string; readonly content?: string | null };
    readonly finish_reason: string | null;
  }[];
}

export interface ModelResource {
  readonly id: string;
  readonly entity: string;
  readonly project: string;
  readonly name: string;
  readonly base_model: string;
  /** What it asks of its adapters; null leaves that to the server, and stands for all seven projections. */
  readonly lora_rank?: number | null;
  readonly lora_alpha?: number | null;
  readonly target_modules?: readonly string[] | null;
}

export interface CheckpointResource {
  readonly id: string;
  readonly step: number;
  readonly metrics: Readonly<Record<string, number>>;
  readonly created_at: string;
  /** Null for the base, and for what was imported. */
  readonly job_id: string | null;
  readonly pinned: boolean;
  /** SHA-256 of the base's weights that it was trained over; null for the base, and where nothing is known. */
  readonly base_hash: string | null;
  readonly adapter_hash: string | null;
}

export interface AcceptedBaseResource {
  readonly base_model: string;
  readonly base_hash: string;
  /** The versions that were trained over other weights. */
  readonly accepted_steps: readonly number[];
}

/** What became of versions that were to be deleted. */
export interface CheckpointDeletionResource {
  readonly deleted_count: number;
  readonly not_found_steps: readonly number[];
  readonly pinned_steps: readonly number[];
  /** A job starts from them. */
  readonly in_use_steps: readonly number[];
}

/** What a name stands for that a chat takes as its model. */
export interface ServedModelResource {
  readonly id: string;
  /** Of a trained model: entity/project/name. */
  readonly root: string;
  /** The base of a trained model; null for a base. */
  readonly parent: string | null;
  /** Whether its base is in memory; null where that is not served. */
  readonly status: {
    readonly value: "loaded" | "loading" | "unloaded" | "failed";
    readonly reason: string;
    readonly memory_bytes: number;
    /** Of that, the most that keys and values may take. */
    readonly key_value_bytes: number;
  } | null;
  /** What its base's files are; null where that is not served. */
  readonly files: { readonly weight_bytes: number; readonly license: string | null } | null;
}

export interface TrainingJobResource {
  readonly id: string;
  readonly model_id: string;
  /** Reinforcement learning, or supervised fine-tuning. */
  readonly kind: "rl" | "sft";
  readonly state: "queued" | "running" | "succeeded" | "failed" | "cancelled";
  readonly error_message: string | null;
  /** The step of the version that it made. */
  readonly result_step: number | null;
  readonly waiting_for: string | null;
  /** Warnings for the job's sender, about a job that works. */
  readonly warnings: readonly string[];
  /** Null unless it runs. */
  readonly phase: "preparing" | "training" | "publishing" | null;
  readonly progress: {
    /** Conversations, or trajectory groups, that are made into tokens; null in jobs from before. */
    readonly prepared: number | null;
    readonly prepared_total: number | null;
    readonly gradient_steps: number;
    /** Null until all is prepared. */
    readonly gradient_steps_total: number | null;
    /** Those that are not taken again after a crash. */
    readonly gradient_steps_saved: number;
  } | null;
  /** Until all is prepared, or until its last step; null while that is not known. */
  readonly seconds_left: number | null;
  /** As it takes effect; null of a job of another kind. */
  readonly experimental_config: Readonly<Record<string, ConfigValue>> | null;
  /** The same of supervised fine-tuning. */
  readonly config: Readonly<Record<string, ConfigValue>> | null;
  /** What was sent and has no effect. */
  readonly config_not_applied: readonly string[];
  /** Null until the job has begun. */
  readonly counts: JobCountsResource | null;
  /** The job that it repeats; it makes no version itself. */
  readonly replay_of: string | null;
  /** The job that failed or was cancelled and whose data it trains on. */
  readonly retry_of: string | null;
  /** Of a replay that succeeded. */
  readonly replay: ReplayResource | null;
}

export type ConfigValue = number | string | boolean | null | readonly number[];

/** How what a replay made compares with the version that its job made. */
export interface ReplayResource {
  readonly is_equal: boolean;
  /** Of the version; all are compared. */
  readonly files: readonly string[];
  readonly matrices: number;
  /** Matrices, and files without any, that are not the same. */
  readonly different: number;
  /** The first 100 of them. */
  readonly differences: readonly {
    readonly file: string;
    readonly matrix: string | null;
    readonly values: number | null;
    readonly greatest: number | null;
  }[];
}

/** What of a job's trajectories trains, and what does not. */
export interface JobCountsResource {
  readonly groups_submitted: number;
  readonly groups_trainable: number;
  readonly trajectories: number;
  readonly sequences: number;
  readonly trainable_tokens: number;
  /** Reason to trajectories of which something did not train for it. */
  readonly skipped: Readonly<Record<string, number>>;
  /** Reason to groups that have such trajectories. */
  readonly skipped_groups: Readonly<Record<string, number>>;
  /** Null of a job from before. */
  readonly steps: {
    readonly count: number;
    /** How often each sequence trains. */
    readonly passes: number;
    /** Sequences of the step that has most. */
    readonly sequences_max: number;
  } | null;
}

export interface JobEventResource {
  readonly id: string;
  readonly type: string;
  readonly data: Readonly<Record<string, number | string>>;
}

export interface TrajectoryBody {
  readonly messages_and_choices: readonly (Message | Choice)[];
  /** The tools that its requests had. */
  readonly tools?: readonly Tool[];
  readonly reward: number;
  readonly metrics?: Readonly<Record<string, number | boolean>>;
  readonly metadata?: Readonly<Record<string, unknown>>;
}

/** Which stored trajectories; what is left out lets all through. */
export interface TrajectoryFilterBody {
  readonly source?: "logs" | "jobs";
  readonly log_id?: string;
  readonly job_id?: string;
  readonly split?: string;
  readonly step?: number | string;
  /** ISO 8601. */
  readonly recorded_from?: string;
  readonly recorded_before?: string;
  readonly reward_min?: number | string;
  readonly reward_max?: number | string;
  /** `key=value`; all of several. */
  readonly metadata?: readonly string[];
}

export interface TrajectoryGroupBody {
  readonly trajectories: readonly TrajectoryBody[];
}

/** The fields of section 2.5 of the interface; absent ones take their defaults. */
export interface TrainingConfigBody {
  readonly learning_rate?: number;
  readonly ppo?: boolean;
  readonly epsilon?: number;
  readonly epsilon_high?: number;
  readonly importance_sampling_level?: "token" | "sequence" | "average" | "geometric_average";
  readonly vendor_k2_tau?: number;
  readonly mask_prob_ratio?: boolean;
  readonly max_negative_advantage_importance_sampling_weight?: number;
  readonly precalculate_logprobs?: boolean;
  readonly scale_rewards?: boolean;
  readonly advantage_balance?: number;
  readonly loss_fn?: "cispo" | "ppo";
  readonly normalize_advantages?: boolean;
  readonly kl_penalty_coef?: number;
  readonly allow_training_without_logprobs?: boolean;
  readonly packed_sequence_length?: number;
  readonly kl_penalty_source?: "current_learner" | "sample";
  readonly batch_size?: number;
  readonly steps?: number;
  readonly passes?: number;
  readonly weight_decay?: number;
  readonly max_grad_norm?: number;
  readonly num_trajectories_learning_rate_multiplier_power?: number;
  readonly truncated_importance_sampling?: number;
}

/** A conversation to learn from; `weight: 0` makes an assistant's message context. */
export interface ExampleBody {
  readonly messages: readonly (Message & {
    readonly weight?: 0 | 1;
    readonly tool_calls?: readonly object[];
  })[];
  readonly tools?: readonly object[];
}

/** Absent fields take their defaults. */
export interface SupervisedConfigBody {
  readonly batch_size?: number | "auto";
  /** One for all steps, or a list with one for each batch. */
  readonly learning_rate?: number | readonly number[];
  readonly epochs?: number;
  readonly shuffle?: boolean;
}

/** The conversations come with the job, or lie in a file of the server. */
export type SupervisedJobBody = {
  readonly model_id: string;
  readonly config?: SupervisedConfigBody;
} & ({ readonly training_data: readonly ExampleBody[] } | { readonly training_data_url: string });

/** An uploaded file. */
export interface FileResource {
  readonly id: string;
  readonly bytes: number;
  /** Seconds since 1970. */
  readonly created_at: number;
  readonly filename: string;
  readonly purpose: string;
}

/** A page of any list. */
export interface PageResource<T> {
  readonly data: readonly T[];
  readonly last_id: string;
  readonly has_more: boolean;
}
