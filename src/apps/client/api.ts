// Every body and answer of the API as a type, and every operation. Written by `npm run docs` from the schemas that check
// requests; a test compares the two.
// oxlint-disable typescript/no-explicit-any

/** One page of a list. */
export type Page<Item> = {
  readonly object: "list";
  readonly data: readonly Item[];
  /** Empty where the page is. */
  readonly first_id: string;
  /** What `after` takes for the next page. */
  readonly last_id: string;
  readonly has_more: boolean;
};

export type AllowedTools = {
  /** As the choice of that name. */
  readonly mode: "auto" | "required";
  /** Tools by their type and name. */
  readonly tools: readonly {
    /** `function` or `custom`. */
    readonly type?: unknown;
    /** Accepted without use. */
    readonly name?: unknown;
    /** The function, by its name. */
    readonly function?: unknown;
    /** The custom tool, by its name. */
    readonly custom?: unknown;
    readonly [name: string]: any;
  }[];
  readonly [name: string]: any;
};

export type AnnotationAnswerReq = {
  /** `<entity>/<project>`. */
  readonly project_id: string;
  /** The server fills it. */
  readonly vendor_user_id?: null;
  /** The server fills it. */
  readonly wb_user_id?: null;
  /** Who annotates, for several people behind one key. Default: the owner of the key. */
  readonly annotator?: string | null;
  /** Answers by the names of the questions. */
  readonly answers: { readonly [name: string]: any };
};

export type AnnotationClaimReq = {
  /** `<entity>/<project>`. */
  readonly project_id: string;
  /** The server fills it. */
  readonly vendor_user_id?: null;
  /** The server fills it. */
  readonly wb_user_id?: null;
  /** Who annotates, for several people behind one key. Default: the owner of the key. */
  readonly annotator?: string | null;
  /** Seconds for which the item is held; then others are given it. Default: 600. */
  readonly hold_seconds?: number | null;
};

export type AnnotationItem = {
  readonly id: string;
  readonly queue_id: string;
  readonly call_id: string;
  /** What feedback on the item is on. */
  readonly vendor_ref: string;
  /** The same as vendor_ref, by another name. */
  readonly weave_ref: string;
  readonly display_fields: readonly {
    /** Where in the call it is. */
    readonly json_path: string;
    /** What it is called. */
    readonly label: string;
  }[];
  readonly added_by: string;
  /** Of whoever is furthest. */
  readonly annotation_state: "unstarted" | "in_progress" | "completed" | "skipped";
  /** Who that is. */
  readonly annotator_user_id: string | null;
  /** How far everybody is who has begun. */
  readonly annotations: readonly {
    readonly annotator: string;
    readonly annotation_state: "unstarted" | "in_progress" | "completed" | "skipped";
    /** Until when nobody else is given the item. */
    readonly held_until: string | null;
    readonly updated_at: string;
  }[];
  readonly created_at: string;
  readonly updated_at: string;
  readonly deleted_at: string | null;
  readonly position_in_queue: number | null;
};

export type AnnotationItemContent = {
  /** What was asked, the oldest first. */
  readonly messages: readonly {
    readonly role: string;
    readonly text: string;
  }[];
  /** The choice that the item names, or all. */
  readonly answers: readonly {
    readonly text: string;
    readonly reasoning: string;
    readonly calls: readonly {
      readonly name: string;
      readonly arguments: string;
    }[];
  }[];
};

export type AnnotationItemsAddReq = {
  /** `<entity>/<project>`. */
  readonly project_id: string;
  /** The server fills it. */
  readonly vendor_user_id?: null;
  /** The server fills it. */
  readonly wb_user_id?: null;
  /**
   * Ids of calls, such as those of recorded completions, or references of calls, objects or ops. Default:
   * `[]`.
   */
  readonly call_ids?: readonly string[] | null;
  /** What feedback of the project is on: `{"$expr": …}` in the language of queries. */
  readonly feedback_query?: { readonly [name: string]: any } | null;
  /** Recorded completions of the project, the newest first. */
  readonly completions?: RecordedCompletionFilter | null;
  /** What of a call whoever shows it shows first. Default: `[]`. */
  readonly display_fields?: readonly {
    /** Where in the call it is. */
    readonly json_path: string;
    /** What it is called. */
    readonly label: string;
  }[] | null;
};

export type AnnotationItemsQueryReq = {
  /** `<entity>/<project>`. */
  readonly project_id: string;
  /** The server fills it. */
  readonly vendor_user_id?: null;
  /** The server fills it. */
  readonly wb_user_id?: null;
  /** Which items; what is absent lets all through. */
  readonly filter?: {
    /** Of one item. */
    readonly id?: string | null;
    /** Of the call that an item is of. */
    readonly call_id?: string | null;
    /** Who added them. */
    readonly added_by?: string | null;
    /** Those in one of these states. */
    readonly annotation_states?: readonly ("unstarted" | "in_progress" | "completed" | "skipped")[] | null;
    /** Not supported. */
    readonly call_op_name?: string | null;
    /** Not supported. */
    readonly call_trace_id?: string | null;
  } | null;
  /** Whose states `annotation_states` is about. Default: whoever is furthest with an item. */
  readonly annotator?: string | null;
  /** Whether the place of each in the queue is told. Default: `true`. */
  readonly include_position?: boolean | null;
  /** Most of the answer, which has up to 4 MiB of them, but at least one. Default: `100`. */
  readonly limit?: number | null;
  /** How many are passed over. Default: `0`. */
  readonly offset?: number | null;
  /** The order of the list. Default: as they came. */
  readonly sort_by?: readonly {
    /** What the order goes by. */
    readonly field: "position_in_queue" | "created_at" | "call_id";
    /** Which comes first. */
    readonly direction: "asc" | "desc";
  }[] | null;
};

export type AnnotationProgressReq = {
  /** `<entity>/<project>`. */
  readonly project_id: string;
  /** The server fills it. */
  readonly vendor_user_id?: null;
  /** The server fills it. */
  readonly wb_user_id?: null;
  /** Who annotates, for several people behind one key. Default: the owner of the key. */
  readonly annotator?: string | null;
  /** One of in_progress, completed and skipped; what was completed or skipped stays so. */
  readonly annotation_state: "unstarted" | "in_progress" | "completed" | "skipped";
  /** Seconds for which the item is held; then others are given it. Default: 600. */
  readonly hold_seconds?: number | null;
};

export type AnnotationQuestion = {
  /** Answers are kept under it; unique in the queue. */
  readonly name: string;
  /** What people read. Default: the name. */
  readonly text?: string | null;
  /** JSON Schema of an answer: an `enum`, or a type `boolean`, `integer`, `number` or `string`. */
  readonly schema: { readonly [name: string]: any };
  /** Whether an item is complete without an answer to it. Default: `false`. */
  readonly optional?: boolean | null;
};

export type AnnotationQueue = {
  readonly id: string;
  readonly project_id: string;
  readonly name: string;
  readonly description: string;
  readonly scorer_refs: readonly string[];
  /** The queue's own. */
  readonly questions: readonly {
    readonly name: string;
    readonly text: string;
    readonly schema: { readonly [name: string]: unknown };
    readonly optional: boolean;
  }[];
  /** All questions, those of the specs first. */
  readonly asked: readonly AskedQuestion[];
  readonly annotators_per_item: number;
  readonly created_at: string;
  /** The owner of the key that made it. */
  readonly created_by: string;
  readonly updated_at: string;
  readonly deleted_at: string | null;
};

export type AnnotationQueueCreateReq = {
  /** `<entity>/<project>`. */
  readonly project_id: string;
  /** The server fills it. */
  readonly vendor_user_id?: null;
  /** The server fills it. */
  readonly wb_user_id?: null;
  /** What people call it. */
  readonly name: string;
  /** What the queue is for. Default: `""`. */
  readonly description?: string | null;
  /** References of annotation specs, each of which is a question. Default: `[]`. */
  readonly scorer_refs?: readonly string[] | null;
  /** Questions of the queue's own, for which nothing has to be published. Default: `[]`. */
  readonly questions?: readonly AnnotationQuestion[] | null;
  /** How many people are to answer each item. Default: `1`. */
  readonly annotators_per_item?: number | null;
};

export type AnnotationQueueQueryReq = {
  /** `<entity>/<project>`. */
  readonly project_id: string;
  /** The server fills it. */
  readonly vendor_user_id?: null;
  /** The server fills it. */
  readonly wb_user_id?: null;
  /** A part of the name, whatever its case. */
  readonly name?: string | null;
  /** Most of the answer, which has up to 4 MiB of them, but at least one. Default: `100`. */
  readonly limit?: number | null;
  /** How many are passed over. Default: `0`. */
  readonly offset?: number | null;
  /** The order of the list. Default: as they came. */
  readonly sort_by?: readonly {
    /** What the order goes by. */
    readonly field: "name" | "created_at" | "updated_at";
    /** Which comes first. */
    readonly direction: "asc" | "desc";
  }[] | null;
};

export type AnnotationQueueStats = {
  readonly queue_id: string;
  readonly total_items: number;
  /** Those that as many have completed as the queue asks for. */
  readonly completed_items: number;
  /** Everybody who has begun. */
  readonly annotators: readonly {
    readonly annotator: string;
    readonly completed: number;
    readonly skipped: number;
    readonly in_progress: number;
  }[];
};

export type AnnotationQueueStatsReq = {
  /** `<entity>/<project>`. */
  readonly project_id: string;
  /** The server fills it. */
  readonly vendor_user_id?: null;
  /** The server fills it. */
  readonly wb_user_id?: null;
  /** Of the queues that are asked about. */
  readonly queue_ids: readonly string[];
};

export type AnnotationQueueUpdateReq = {
  /** `<entity>/<project>`. */
  readonly project_id: string;
  /** The server fills it. */
  readonly vendor_user_id?: null;
  /** The server fills it. */
  readonly wb_user_id?: null;
  /** What people call it. */
  readonly name?: string | null;
  /** What the queue is for. Default: `""`. */
  readonly description?: string | null;
  /** References of annotation specs, each of which is a question. Default: `[]`. */
  readonly scorer_refs?: readonly string[] | null;
  /** Questions of the queue's own, for which nothing has to be published. Default: `[]`. */
  readonly questions?: readonly AnnotationQuestion[] | null;
  /** How many people are to answer each item. Default: `1`. */
  readonly annotators_per_item?: number | null;
};

export type AnnotationReleaseReq = {
  /** `<entity>/<project>`. */
  readonly project_id: string;
  /** The server fills it. */
  readonly vendor_user_id?: null;
  /** The server fills it. */
  readonly wb_user_id?: null;
  /** Who annotates, for several people behind one key. Default: the owner of the key. */
  readonly annotator?: string | null;
};

export type AnthropicContentBlock = {
  /** `text`, `thinking`, `redacted_thinking`, `tool_use` or `tool_result`. */
  readonly type: string;
  /** Of a text. */
  readonly text?: string | null;
  /** Of a thought: what was thought. */
  readonly thinking?: string | null;
  /** Of a thought: accepted without use. */
  readonly signature?: string | null;
  /** Of a call: what its result names. */
  readonly id?: string | null;
  /** Of a call: the tool's name. */
  readonly name?: string | null;
  /** Of a call: its arguments. */
  readonly input?: { readonly [name: string]: any } | null;
  /** Of a result: of which call. */
  readonly tool_use_id?: string | null;
  /** Of a result: what the tool returned. */
  readonly content?: string | readonly AnthropicTextBlock[] | null;
  /** Of a result: accepted without use, for templates know no failed calls. Say it in the content. */
  readonly is_error?: boolean | null;
  /** Accepted without use: what was computed of a prompt is kept whatever this says. */
  readonly cache_control?: { readonly [name: string]: any } | null;
  /** Accepted without use. */
  readonly citations?: unknown;
  /** Accepted without use. */
  readonly caller?: unknown;
  /** Of a redacted thought: accepted without use. */
  readonly data?: unknown;
  readonly [name: string]: any;
};

export type AnthropicCountRequest = {
  /** The conversation so far, oldest first. */
  readonly messages: readonly AnthropicMessageParam[];
  /**
   * A system message before the conversation. A block that begins with `x-anthropic-billing-header:` is left
   * out: it says nothing to a model, and would keep prompts from being shared. Default: none.
   */
  readonly system?: string | readonly AnthropicTextBlock[] | null;
  /**
   * Tools that the chat template shows to the model; the header `x-hone-notice` names those that are left
   * out. Default: none.
   */
  readonly tools?: readonly AnthropicTool[] | null;
  /** Whether the answer may call tools, must, or must not. Default: as in a chat request. */
  readonly tool_choice?: AnthropicToolChoice | null;
  /**
   * Whether the model is to think before it answers. Default: it is told not to, by the template's
   * `enable_thinking`.
   */
  readonly thinking?: AnthropicThinkingConfig | null;
  /** The form of the answer, and how much the model is to think. Default: none. */
  readonly output_config?: AnthropicOutputConfig | null;
  /** The same as output_config.format, by its older name. Default: none. */
  readonly output_format?: AnthropicOutputFormat | null;
  /** Accepted without use: what was computed of a prompt is kept whatever this says. Default: none. */
  readonly cache_control?: { readonly [name: string]: any } | null;
  /**
   * Not applied: the conversation is taken as it was sent, and the header `x-hone-notice` says so where there
   * are edits. Default: none.
   */
  readonly context_management?: { readonly [name: string]: any } | null;
  /**
   * A base model, or a trained one by id, name, project/name or entity/project/name, each with :stepN or
   * :latest where wanted. Default: the server's default model.
   */
  readonly model?: string | null;
  /**
   * Documents that the chat template shows to the model, if it does; all their values are texts. Default:
   * none.
   */
  readonly documents?: readonly { readonly [name: string]: string }[] | null;
  /**
   * A Jinja template instead of the model's own, rendered within limits of size and time; needed where the
   * model has none. Default: the model's own.
   */
  readonly chat_template?: string | null;
  /**
   * Further variables for the chat template. They hide its own, but neither the messages nor what a field of
   * the request says. Default: `{}`.
   */
  readonly chat_template_kwargs?: { readonly [name: string]: any } | null;
  /** Adds the tokenizer's special tokens to those of the template. Default: `false`. */
  readonly add_special_tokens?: boolean;
};

export type AnthropicEvent = {
  readonly type: "message_start";
  readonly message: AnthropicMessage;
} | {
  readonly type: "ping";
} | {
  readonly type: "content_block_start";
  readonly index: number;
  readonly content_block: AnthropicText | AnthropicThinking | AnthropicToolUse;
} | {
  readonly type: "content_block_delta";
  readonly index: number;
  readonly delta: {
    readonly type: "text_delta";
    readonly text: string;
  } | {
    readonly type: "thinking_delta";
    readonly thinking: string;
  } | {
    readonly type: "signature_delta";
    readonly signature: string;
  } | {
    readonly type: "input_json_delta";
    readonly partial_json: string;
  };
} | {
  readonly type: "content_block_stop";
  readonly index: number;
} | {
  readonly type: "message_delta";
  readonly delta: {
    /** Null until the end. */
    readonly stop_reason: "end_turn" | "max_tokens" | "stop_sequence" | "tool_use" | "model_context_window_exceeded" | null;
    /** Of the request's, the one that ended the answer. */
    readonly stop_sequence: string | null;
    readonly stop_details: null;
    readonly container: null;
  };
  readonly usage: AnthropicUsage;
} | {
  readonly type: "message_stop";
} | {
  readonly type: "error";
  readonly error: { readonly [name: string]: unknown };
  readonly detail: readonly { readonly [name: string]: unknown }[];
  readonly request_id: string;
};

export type AnthropicMessage = {
  /** `msg_` and the request's id. */
  readonly id: string;
  readonly type: "message";
  readonly role: "assistant";
  /** The name asked for, or the default model's. */
  readonly model: string;
  /** What the model thought, said and calls, in order. */
  readonly content: readonly (AnthropicText | AnthropicThinking | AnthropicToolUse)[];
  /** Null until the end. */
  readonly stop_reason: "end_turn" | "max_tokens" | "stop_sequence" | "tool_use" | "model_context_window_exceeded" | null;
  /** Of the request's, the one that ended the answer. */
  readonly stop_sequence: string | null;
  readonly stop_details: null;
  readonly container: null;
  readonly diagnostics: null;
  readonly usage: AnthropicUsage;
};

export type AnthropicMessageParam = {
  /**
   * Messages of the user that follow each other are one turn, as are those of the assistant. A last message
   * of the assistant is gone on with.
   */
  readonly role: "user" | "assistant" | "system";
  /** A text, or blocks. */
  readonly content: string | readonly AnthropicContentBlock[];
  readonly [name: string]: any;
};

export type AnthropicMessageRequest = {
  /** The conversation so far, oldest first. */
  readonly messages: readonly AnthropicMessageParam[];
  /**
   * A system message before the conversation. A block that begins with `x-anthropic-billing-header:` is left
   * out: it says nothing to a model, and would keep prompts from being shared. Default: none.
   */
  readonly system?: string | readonly AnthropicTextBlock[] | null;
  /**
   * Tools that the chat template shows to the model; the header `x-hone-notice` names those that are left
   * out. Default: none.
   */
  readonly tools?: readonly AnthropicTool[] | null;
  /** Whether the answer may call tools, must, or must not. Default: as in a chat request. */
  readonly tool_choice?: AnthropicToolChoice | null;
  /**
   * Whether the model is to think before it answers. Default: it is told not to, by the template's
   * `enable_thinking`.
   */
  readonly thinking?: AnthropicThinkingConfig | null;
  /** The form of the answer, and how much the model is to think. Default: none. */
  readonly output_config?: AnthropicOutputConfig | null;
  /** The same as output_config.format, by its older name. Default: none. */
  readonly output_format?: AnthropicOutputFormat | null;
  /** Accepted without use: what was computed of a prompt is kept whatever this says. Default: none. */
  readonly cache_control?: { readonly [name: string]: any } | null;
  /**
   * Not applied: the conversation is taken as it was sent, and the header `x-hone-notice` says so where there
   * are edits. Default: none.
   */
  readonly context_management?: { readonly [name: string]: any } | null;
  /**
   * Documents that the chat template shows to the model, if it does; all their values are texts. Default:
   * none.
   */
  readonly documents?: readonly { readonly [name: string]: string }[] | null;
  /**
   * A Jinja template instead of the model's own, rendered within limits of size and time; needed where the
   * model has none. Default: the model's own.
   */
  readonly chat_template?: string | null;
  /**
   * Further variables for the chat template. They hide its own, but neither the messages nor what a field of
   * the request says. Default: `{}`.
   */
  readonly chat_template_kwargs?: { readonly [name: string]: any } | null;
  /** Adds the tokenizer's special tokens to those of the template. Default: `false`. */
  readonly add_special_tokens?: boolean;
  /**
   * A base model, or a trained one by id, name, project/name or entity/project/name, each with :stepN or
   * :latest where wanted. Default: the server's default model.
   */
  readonly model?: string | null;
  /** The id of the answer, after `chatcmpl-`; one that is running is refused. Default: a fresh one. */
  readonly request_id?: string;
  /**
   * Lower is answered earlier, and takes room from what is higher; anything but 0 is refused unless the model
   * is scheduled by priority. Default: `0`.
   */
  readonly priority?: number;
  /**
   * Keeps what is computed of the prompt from requests of the same entity with another salt or none, which
   * could else find out by the time to the first token, or by `cached_tokens`, that somebody sent the same.
   * Other entities never share it. Default: none.
   */
  readonly cache_salt?: string | null;
  /**
   * Keeps the last so many tokens of the prompt; -1 as many as fit beside max_completion_tokens. Default: a
   * prompt that does not fit is refused.
   */
  readonly truncate_prompt_tokens?: number | null;
  /**
   * Fewest tokens of an answer: what would end it is not drawn before, unless nothing else may come, as where
   * it is complete under its constraint. Default: `0`.
   */
  readonly min_tokens?: number;
  /** Token ids that end the answer, beside the model's own; `stop_reason` says which. Default: `[]`. */
  readonly stop_token_ids?: readonly number[] | null;
  /** The model's own end does not end the answer; stop_token_ids still do. Default: `false`. */
  readonly ignore_eos?: boolean;
  /**
   * Shows the text that ended the answer: the stop string, or that of the stop token unless it is special and
   * these are skipped. Default: `false`.
   */
  readonly include_stop_str_in_output?: boolean;
  /** Leaves special tokens out of the text. Default: `true`. */
  readonly skip_special_tokens?: boolean;
  /**
   * Divides the logits; 0 is greedy, and what is between 0 and 0.01 counts as 0.01. Default: the model's own,
   * else 1.
   */
  readonly temperature?: number | null;
  /**
   * Draws among the fewest most probable tokens that have this much together. Default: the model's own, else
   * 1.
   */
  readonly top_p?: number | null;
  /** Draws among so many most probable tokens; 0 and -1 among all. Default: the model's own, else 0. */
  readonly top_k?: number | null;
  /**
   * Leaves out tokens less probable than this part of the most probable one. Default: the model's own, else
   * 0.
   */
  readonly min_p?: number | null;
  /**
   * Leaves out tokens whose logit is more than so many standard deviations of the logits below the greatest,
   * whatever the temperature, before min_p, top_k and top_p; 0 and less leave out none. Default: `0`.
   */
  readonly top_n_sigma?: number | null;
  /**
   * Divides the positive logits of tokens that prompt or answer have, and multiplies their negative ones.
   * Default: the model's own, else 1.
   */
  readonly repetition_penalty?: number | null;
  /** Subtracted from a token's logit for each time the answer has it. Default: `0`. */
  readonly frequency_penalty?: number | null;
  /** Subtracted from the logit of each token that the answer has. Default: `0`. */
  readonly presence_penalty?: number | null;
  /** Added to the logits of these token ids, greedy or not. Default: none. */
  readonly logit_bias?: { readonly [name: string]: number } | null;
  /** Only these token ids may be drawn; the model's end is not among them by itself. Default: all. */
  readonly allowed_token_ids?: readonly number[] | null;
  /**
   * Texts that the answer must not hold, as the model's tokens spell them at its beginning, and after a blank
   * where that takes as many tokens; other spellings get through. Default: `[]`.
   */
  readonly bad_words?: readonly string[];
  /**
   * Steps on the logits that the server has by name, with their arguments; in this order, after the logit
   * bias and before penalties. Default: none.
   */
  readonly logits_processors?: readonly (string | LogitsProcessorConstructor)[] | null;
  /** Further arguments, which every logits processor of the request is given. Default: `{}`. */
  readonly vendor_xargs?: { readonly [name: string]: string | number | readonly (string | number)[] } | null;
  /** The same as vendor_xargs, by another name. Default: `{}`. */
  readonly vllm_xargs?: { readonly [name: string]: string | number | readonly (string | number)[] } | null;
  /**
   * Makes the answer reproducible, whatever else is being answered, where the model is `exact` in
   * `/v1/models`; of others the header `x-hone-notice` says that it does not. Default: a fresh one.
   */
  readonly seed?: number | null;
  /**
   * The one constraint that the answer must keep, which response_format may hold instead, and how JSON is
   * written. Default: none.
   */
  readonly structured_outputs?: StructuredOutputs | null;
  /** The same as structured_outputs.json, by the older name that vLLM had. Default: none. */
  readonly guided_json?: string | { readonly [name: string]: any } | null;
  /** The same as structured_outputs.regex, by the older name that vLLM had. Default: none. */
  readonly guided_regex?: string | null;
  /** The same as structured_outputs.choice, by the older name that vLLM had. Default: none. */
  readonly guided_choice?: readonly string[] | null;
  /** The same as structured_outputs.grammar, by the older name that vLLM had. Default: none. */
  readonly guided_grammar?: string | null;
  /** The same as structured_outputs.grammar, as llama.cpp has it. Default: none. */
  readonly grammar?: string | null;
  /** The same as structured_outputs.json, as llama.cpp has it. Default: none. */
  readonly json_schema?: string | { readonly [name: string]: any } | null;
  /** As Ollama has it: `json` holds the answer to any JSON object, a schema to JSON of it. Default: none. */
  readonly format?: "json" | { readonly [name: string]: any } | null;
  /** The same as structured_outputs.whitespace_pattern, by the older name that vLLM had. Default: none. */
  readonly guided_whitespace_pattern?: string | null;
  /** The same as structured_outputs._backend, by the older name that vLLM had. Default: auto. */
  readonly guided_decoding_backend?: string | null;
  /**
   * Whether the completion is recorded, where a trained model answers: false keeps it from that. True changes
   * nothing unless the operator has only those recorded that ask for it (`recordings.record`). Default: as
   * the operator has it: recorded.
   */
  readonly store?: boolean | null;
  /** Most tokens of the answer, thoughts included; cut to the room that is left. */
  readonly max_tokens: number;
  /** Texts that end the answer, and are not part of it; `stop_sequence` says which one did. Default: `[]`. */
  readonly stop_sequences?: readonly string[] | null;
  /** Answers as server-sent events. Default: `false`. */
  readonly stream?: boolean | null;
  /** What the client says of the request. Default: none. */
  readonly metadata?: AnthropicMetadata | null;
  /** Accepted without use. Default: `"auto"`. */
  readonly service_tier?: "auto" | "standard_only" | null;
};

export type AnthropicMetadata = {
  /** Whom the request is for; accepted without use. */
  readonly user_id?: string | null;
  readonly [name: string]: any;
};

export type AnthropicOutputConfig = {
  /** How much the model is to think, where it may. Default: the template's own. */
  readonly effort?: "low" | "medium" | "high" | "xhigh" | "max" | null;
  /** The form of the answer's text. Default: free text. */
  readonly format?: AnthropicOutputFormat | null;
  readonly [name: string]: any;
};

export type AnthropicOutputFormat = {
  /** What the answer's text is held to. */
  readonly type: "json_schema";
  /** The JSON Schema. */
  readonly schema: { readonly [name: string]: any };
  readonly [name: string]: any;
};

export type AnthropicText = {
  readonly type: "text";
  readonly text: string;
  readonly citations: null;
};

export type AnthropicTextBlock = {
  /** `text`. */
  readonly type: string;
  /** The text. */
  readonly text?: string | null;
  /** Accepted without use: what was computed of a prompt is kept whatever this says. */
  readonly cache_control?: { readonly [name: string]: any } | null;
  /** Accepted without use. */
  readonly citations?: unknown;
  readonly [name: string]: any;
};

export type AnthropicThinking = {
  readonly type: "thinking";
  /** What the model thought. */
  readonly thinking: string;
  /** Its SHA-256. Nothing checks it when it comes back. */
  readonly signature: string;
};

export type AnthropicThinkingConfig = {
  /** Whether the model may think first; whether it does is up to it and its template. */
  readonly type: "enabled" | "adaptive" | "disabled";
  /**
   * With `enabled`: most tokens of a thought, where the vocabulary has `<think>` and `</think>`; of other
   * models `max_tokens` alone limits it.
   */
  readonly budget_tokens?: number | null;
  /**
   * With `omitted` no thinking blocks are answered; else what was thought is answered in full. Default:
   * `"summarized"`.
   */
  readonly display?: "summarized" | "omitted" | null;
  readonly [name: string]: any;
};

export type AnthropicTokenCount = {
  /** Tokens of the prompt, whatever of it is kept. */
  readonly input_tokens: number;
};

export type AnthropicTool = {
  /**
   * `custom`. Others are left out: the server runs no tools itself, and knows none by its type. Default:
   * `"custom"`.
   */
  readonly type?: string | null;
  /** What the model calls it by. */
  readonly name?: string | null;
  /** What it does, for the model. */
  readonly description?: string | null;
  /** JSON Schema of the arguments. */
  readonly input_schema?: { readonly [name: string]: any } | null;
  /** Arguments follow the schema exactly. */
  readonly strict?: boolean | null;
  /** Accepted without use: what was computed of a prompt is kept whatever this says. */
  readonly cache_control?: { readonly [name: string]: any } | null;
  readonly [name: string]: any;
};

export type AnthropicToolChoice = {
  /** `any` asks for a call, `tool` for one of the tool that is named. */
  readonly type: "auto" | "any" | "tool" | "none";
  /** With `tool`: one of the tools' names. */
  readonly name?: string | null;
  /** Ends the answer behind its first call. Default: `false`. */
  readonly disable_parallel_tool_use?: boolean | null;
  readonly [name: string]: any;
};

export type AnthropicToolUse = {
  readonly type: "tool_use";
  /** What the call's result names. */
  readonly id: string;
  readonly name: string;
  readonly caller: {
    readonly type: "direct";
  };
  /** The arguments; what is no JSON object, as of a call that was cut, stands in `INVALID_JSON`. */
  readonly input: { readonly [name: string]: unknown };
};

export type AnthropicUsage = {
  /** Tokens of the prompt that were computed for this request. */
  readonly input_tokens: number;
  /** 0: what is kept of a prompt is not told apart from the rest of it. */
  readonly cache_creation_input_tokens: number;
  /** Tokens of the prompt that were computed before; with `input_tokens` they are the whole prompt. */
  readonly cache_read_input_tokens: number;
  readonly cache_creation: null;
  readonly output_tokens: number;
  readonly output_tokens_details: {
    /** Up to the last one that was thought. */
    readonly thinking_tokens: number;
  };
  readonly server_tool_use: null;
  readonly service_tier: "standard";
  readonly inference_geo: null;
  readonly speed: null;
};

export type AskedQuestion = {
  readonly name: string;
  readonly text: string;
  readonly optional: boolean;
  /** The spec that asks it. */
  readonly spec_ref: string | null;
  /** Null where the spec is not stored here: any answer is taken. */
  readonly schema: { readonly [name: string]: unknown } | null;
  /** What an answer is; `json` where the schema is of no other kind. */
  readonly kind: "choice" | "boolean" | "integer" | "number" | "text" | "json";
  /** Of a choice. */
  readonly choices: readonly unknown[] | null;
  readonly minimum: number | null;
  readonly maximum: number | null;
  /** Characters of a text. */
  readonly max_length: number | null;
};

export type AssistantMessage = {
  readonly role: string;
  /** Null where the message only calls tools, or only thinks. */
  readonly content: string | null;
  /** What the model thought; under both names. */
  readonly reasoning: string | null;
  /** What the model thought; under both names. */
  readonly reasoning_content: string | null;
  readonly tool_calls: readonly ToolCall[];
  readonly refusal: null;
  readonly annotations: null;
  readonly audio: null;
  readonly function_call: null;
};

export type CallFeedback = {
  readonly id: string;
  readonly feedback_type: string;
  /** The whole answer, or one of its choices. */
  readonly vendor_ref: string;
  readonly vendor_user_id: string;
  readonly created_at: string;
};

export type CalledCustomTool = {
  /** What is called. */
  readonly name?: unknown;
  /** The text that the tool takes. */
  readonly input?: unknown;
  readonly [name: string]: any;
};

export type CalledFunction = {
  /** What is called. */
  readonly name?: unknown;
  /** Arguments as JSON, or as a text of it. */
  readonly arguments?: unknown;
  readonly [name: string]: any;
};

export type ChatCompletion = {
  /** `chatcmpl-` and the request's id. */
  readonly id: string;
  readonly request_id: string;
  /** Seconds since 1970. */
  readonly created: number;
  /** The name asked for, or the default model's. */
  readonly model: string;
  readonly service_tier: "default";
  /** Names base, version and engine build. */
  readonly system_fingerprint: string;
  readonly object: "chat.completion";
  readonly choices: readonly Choice[];
  readonly usage: {
    /** Tokens of the prompt, once whatever n is. */
    readonly prompt_tokens: number;
    /** Tokens of all choices. */
    readonly completion_tokens: number;
    /** Both together. */
    readonly total_tokens: number;
    readonly prompt_tokens_details: {
      /** Tokens of the prompt, from its first on, that an earlier request had computed. */
      readonly cached_tokens: number;
    };
  };
  /**
   * One object for each token of the prompt, by token id: the token itself, then the alternatives; null for
   * the first.
   */
  readonly prompt_logprobs: readonly ({ readonly [name: string]: {
    readonly logprob: number;
    readonly rank: number;
    readonly decoded_token: string | null;
  } } | null)[] | null;
  /** With return_token_ids. */
  readonly prompt_token_ids: readonly number[] | null;
  readonly kv_transfer_params: { readonly [name: string]: unknown } | null;
};

export type ChatCompletionChunk = {
  /** `chatcmpl-` and the request's id. */
  readonly id: string;
  readonly request_id: string;
  /** Seconds since 1970. */
  readonly created: number;
  /** The name asked for, or the default model's. */
  readonly model: string;
  readonly service_tier: "default";
  /** Names base, version and engine build. */
  readonly system_fingerprint: string;
  readonly object: "chat.completion.chunk";
  /** One at a time; none in the chunk with the usage. */
  readonly choices: readonly {
    readonly index: number;
    readonly delta: {
      /** In the first chunk of the choice, which comes before any text. */
      readonly role?: string;
      readonly content?: string | null;
      readonly reasoning?: string | null;
      readonly reasoning_content?: string | null;
      readonly tool_calls?: readonly {
        readonly index: number;
        readonly id?: string;
        readonly type?: "function" | "custom";
        readonly function?: {
          readonly name?: string;
          readonly arguments: string;
        };
        readonly custom?: {
          readonly name?: string;
          readonly input: string;
        };
      }[];
    };
    readonly logprobs: {
      /** One entry for each token. */
      readonly content: readonly {
        /** The token's text, or `token_id:<N>`. */
        readonly token: string;
        /** Natural logarithm; -9999 for what is impossible. */
        readonly logprob: number;
        /** The text's bytes; together they are the answer's. */
        readonly bytes: readonly number[];
        readonly top_logprobs: readonly {
          /** The token's text, or `token_id:<N>`. */
          readonly token: string;
          /** Natural logarithm; -9999 for what is impossible. */
          readonly logprob: number;
          /** The text's bytes; together they are the answer's. */
          readonly bytes: readonly number[];
        }[];
      }[];
      readonly refusal: null;
    } | null;
    /** In the last chunk of the choice, whose delta is empty. */
    readonly finish_reason: "stop" | "length" | "tool_calls" | null;
    /** The stop token that ended it. */
    readonly stop_reason?: number | null;
    /** The stop string that ended it. */
    readonly matched_stop?: string | null;
    readonly token_ids?: readonly number[] | null;
    readonly prompt_token_ids?: readonly number[];
  }[];
  readonly usage?: {
    /** Tokens of the prompt, once whatever n is. */
    readonly prompt_tokens: number;
    /** Tokens of all choices. */
    readonly completion_tokens: number;
    /** Both together. */
    readonly total_tokens: number;
    readonly prompt_tokens_details: {
      /** Tokens of the prompt, from its first on, that an earlier request had computed. */
      readonly cached_tokens: number;
    };
  };
  /** In the first chunk of each choice, with return_token_ids. */
  readonly prompt_token_ids?: readonly number[] | null;
};

export type ChatCompletionRequest = {
  /**
   * The conversation so far, oldest first; the chat template decides about roles. Where it refuses a system
   * message behind others, all system messages are joined into the first.
   */
  readonly messages: readonly Message[];
  /** Functions that the chat template shows to the model, and that it may call. Default: none. */
  readonly tools?: readonly Tool[] | null;
  /**
   * Documents that the chat template shows to the model, if it does; all their values are texts. Default:
   * none.
   */
  readonly documents?: readonly { readonly [name: string]: string }[] | null;
  /**
   * A Jinja template instead of the model's own, rendered within limits of size and time; needed where the
   * model has none. Default: the model's own.
   */
  readonly chat_template?: string | null;
  /**
   * Further variables for the chat template. They hide its own, but neither the messages nor what a field of
   * the request says. Default: `{}`.
   */
  readonly chat_template_kwargs?: { readonly [name: string]: any } | null;
  /**
   * How much the model is to think: the chat template sees it as reasoning_effort, and as enable_thinking,
   * which only `none` makes false. Default: the template's own.
   */
  readonly reasoning_effort?: "none" | "minimal" | "low" | "medium" | "high" | "xhigh" | "max" | null;
  /**
   * Ends the prompt with what opens the assistant's turn. Default: true; false with continue_final_message.
   */
  readonly add_generation_prompt?: boolean;
  /**
   * Leaves the last message open, and the model goes on with it; excludes add_generation_prompt. Default:
   * `false`.
   */
  readonly continue_final_message?: boolean;
  /** Adds the tokenizer's special tokens to those of the template. Default: `false`. */
  readonly add_special_tokens?: boolean;
  /**
   * Puts the last message's text before the answer's where both have one role, as with
   * continue_final_message; else it changes no text. Answers that are no stream then have prompt_logprobs, as
   * many as top_logprobs. Default: `false`.
   */
  readonly echo?: boolean;
  /** Accepted without use: the models read text. Default: `{}`. */
  readonly mm_processor_kwargs?: { readonly [name: string]: any } | null;
  /**
   * Whether the answer may call tools (auto), must (required, or a function by name) or must not (none).
   * Default: auto where there are tools and the model calls them, else none.
   */
  readonly tool_choice?: "none" | "auto" | "required" | NamedToolChoice | null;
  /** Whether an answer may call more than one tool. Default: `true`. */
  readonly parallel_tool_calls?: boolean | null;
  /** The same as max_tokens, and wins over it. Default: max_tokens. */
  readonly max_completion_tokens?: number | null;
  /**
   * Most tokens of an answer; cut to the room that is left. max_completion_tokens is its newer name. Default:
   * the model's own, else all the room.
   */
  readonly max_tokens?: number | null;
  /**
   * Returns each token's log-probability, before bias, penalties and temperature. Default: false; true for a
   * trained model.
   */
  readonly logprobs?: boolean | null;
  /**
   * How many alternatives each token carries, the most probable first; needs logprobs. All answers together
   * have at most 4,194,304 log-probabilities. Default: `0`.
   */
  readonly top_logprobs?: number | null;
  /** Whether what the model thought is returned, as `reasoning`; its tokens count anyway. Default: `true`. */
  readonly include_reasoning?: boolean;
  /**
   * A base model, or a trained one by id, name, project/name or entity/project/name, each with :stepN or
   * :latest where wanted. Default: the server's default model.
   */
  readonly model?: string | null;
  /** The id of the answer, after `chatcmpl-`; one that is running is refused. Default: a fresh one. */
  readonly request_id?: string;
  /** Whom the request is for, in the client's words; accepted without use. Default: nobody. */
  readonly user?: string | null;
  /**
   * Lower is answered earlier, and takes room from what is higher; anything but 0 is refused unless the model
   * is scheduled by priority. Default: `0`.
   */
  readonly priority?: number;
  /**
   * Keeps what is computed of the prompt from requests of the same entity with another salt or none, which
   * could else find out by the time to the first token, or by `cached_tokens`, that somebody sent the same.
   * Other entities never share it. Default: none.
   */
  readonly cache_salt?: string | null;
  /**
   * Has a prompt computed by one server and answered by another, as proxies before vLLM's servers ask for it:
   * see [prefill-and-decode.md](prefill-and-decode.md). Refused unless the operator has servers share a
   * secret (`transfer.secret`). Default: the prompt is computed and answered here.
   */
  readonly kv_transfer_params?: KvTransferParams | null;
  /**
   * Keeps the last so many tokens of the prompt; -1 as many as fit beside max_completion_tokens. Default: a
   * prompt that does not fit is refused.
   */
  readonly truncate_prompt_tokens?: number | null;
  /** Answers as server-sent events. Default: `false`. */
  readonly stream?: boolean | null;
  /**
   * Whether a stream ends with the usage, and carries it in every chunk; only with stream. Default: neither.
   */
  readonly stream_options?: StreamOptions | null;
  /** Spells tokens of log-probabilities as token_id:<N>. Default: `false`. */
  readonly return_tokens_as_token_ids?: boolean | null;
  /**
   * Searches the n most probable answers with n beams instead of drawing, and returns them whole, the best
   * first; fewer where a constraint leaves fewer. temperature and seed have no effect; stop, top_p, top_k,
   * min_p, logit_bias, penalties and logits_processors are refused beside it. Default: `false`.
   */
  readonly use_beam_search?: boolean;
  /** How many answers; the width of a beam search. Default: `1`. */
  readonly n?: number | null;
  /**
   * How beam search weighs length: an answer's summed log-probability is divided by its length, prompt
   * included and without the token that ended it, to this power. Needs use_beam_search. Default: `1`.
   */
  readonly length_penalty?: number;
  /**
   * Fewest tokens of an answer: what would end it is not drawn before, unless nothing else may come, as where
   * it is complete under its constraint. Default: `0`.
   */
  readonly min_tokens?: number;
  /**
   * One text or several that end the answer, and are not part of it; the one that is completed first wins.
   * Default: `[]`.
   */
  readonly stop?: string | readonly string[] | null;
  /** Token ids that end the answer, beside the model's own; `stop_reason` says which. Default: `[]`. */
  readonly stop_token_ids?: readonly number[] | null;
  /** The model's own end does not end the answer; stop_token_ids still do. Default: `false`. */
  readonly ignore_eos?: boolean;
  /**
   * Shows the text that ended the answer: the stop string, or that of the stop token unless it is special and
   * these are skipped. Default: `false`.
   */
  readonly include_stop_str_in_output?: boolean;
  /**
   * Returns how probable each token of the prompt was after those before it, with its rank and so many
   * alternatives; 0 gives the tokens alone. Not in a stream. Default: none.
   */
  readonly prompt_logprobs?: number | null;
  /**
   * Returns the ids of prompt and answer; in the choices of a trained model they are unless it is false.
   * Default: false; a trained model's choices have them.
   */
  readonly return_token_ids?: boolean | null;
  /** Leaves special tokens out of the text. Default: `true`. */
  readonly skip_special_tokens?: boolean;
  /**
   * Accepted without use: the tokenizers served here put no blanks between special tokens, so both values
   * mean the same. Default: `true`.
   */
  readonly spaces_between_special_tokens?: boolean;
  /**
   * Divides the logits; 0 is greedy, and what is between 0 and 0.01 counts as 0.01. Default: the model's own,
   * else 1.
   */
  readonly temperature?: number | null;
  /**
   * Draws among the fewest most probable tokens that have this much together. Default: the model's own, else
   * 1.
   */
  readonly top_p?: number | null;
  /** Draws among so many most probable tokens; 0 and -1 among all. Default: the model's own, else 0. */
  readonly top_k?: number | null;
  /**
   * Leaves out tokens less probable than this part of the most probable one. Default: the model's own, else
   * 0.
   */
  readonly min_p?: number | null;
  /**
   * Leaves out tokens whose logit is more than so many standard deviations of the logits below the greatest,
   * whatever the temperature, before min_p, top_k and top_p; 0 and less leave out none. Default: `0`.
   */
  readonly top_n_sigma?: number | null;
  /**
   * Divides the positive logits of tokens that prompt or answer have, and multiplies their negative ones.
   * Default: the model's own, else 1.
   */
  readonly repetition_penalty?: number | null;
  /** Subtracted from a token's logit for each time the answer has it. Default: `0`. */
  readonly frequency_penalty?: number | null;
  /** Subtracted from the logit of each token that the answer has. Default: `0`. */
  readonly presence_penalty?: number | null;
  /** Added to the logits of these token ids, greedy or not. Default: none. */
  readonly logit_bias?: { readonly [name: string]: number } | null;
  /** Only these token ids may be drawn; the model's end is not among them by itself. Default: all. */
  readonly allowed_token_ids?: readonly number[] | null;
  /**
   * Texts that the answer must not hold, as the model's tokens spell them at its beginning, and after a blank
   * where that takes as many tokens; other spellings get through. Default: `[]`.
   */
  readonly bad_words?: readonly string[];
  /**
   * Steps on the logits that the server has by name, with their arguments; in this order, after the logit
   * bias and before penalties. Default: none.
   */
  readonly logits_processors?: readonly (string | LogitsProcessorConstructor)[] | null;
  /**
   * Most tokens of a thought: the logits processor `thinking-budget` with this budget, for models whose
   * vocabulary has `<think>` and `</think>`. Default: none.
   */
  readonly thinking_token_budget?: number | null;
  /** Further arguments, which every logits processor of the request is given. Default: `{}`. */
  readonly vendor_xargs?: { readonly [name: string]: string | number | readonly (string | number)[] } | null;
  /** The same as vendor_xargs, by another name. Default: `{}`. */
  readonly vllm_xargs?: { readonly [name: string]: string | number | readonly (string | number)[] } | null;
  /**
   * Makes the answer reproducible, whatever else is being answered, where the model is `exact` in
   * `/v1/models`; of others the header `x-hone-notice` says that it does not. Default: a fresh one.
   */
  readonly seed?: number | null;
  /**
   * The one constraint that the answer must keep, which response_format may hold instead, and how JSON is
   * written. Default: none.
   */
  readonly structured_outputs?: StructuredOutputs | null;
  /**
   * The form that the answer must have: JSON, JSON of a schema, or a structural tag; `text` asks for none.
   * Default: none.
   */
  readonly response_format?: ResponseFormat | null;
  /** The same as structured_outputs.json, by the older name that vLLM had. Default: none. */
  readonly guided_json?: string | { readonly [name: string]: any } | null;
  /** The same as structured_outputs.regex, by the older name that vLLM had. Default: none. */
  readonly guided_regex?: string | null;
  /** The same as structured_outputs.choice, by the older name that vLLM had. Default: none. */
  readonly guided_choice?: readonly string[] | null;
  /** The same as structured_outputs.grammar, by the older name that vLLM had. Default: none. */
  readonly guided_grammar?: string | null;
  /** The same as structured_outputs.grammar, as llama.cpp has it. Default: none. */
  readonly grammar?: string | null;
  /** The same as structured_outputs.json, as llama.cpp has it. Default: none. */
  readonly json_schema?: string | { readonly [name: string]: any } | null;
  /** As Ollama has it: `json` holds the answer to any JSON object, a schema to JSON of it. Default: none. */
  readonly format?: "json" | { readonly [name: string]: any } | null;
  /** The same as structured_outputs.whitespace_pattern, by the older name that vLLM had. Default: none. */
  readonly guided_whitespace_pattern?: string | null;
  /** The same as structured_outputs._backend, by the older name that vLLM had. Default: auto. */
  readonly guided_decoding_backend?: string | null;
  /**
   * Whether the completion is recorded, where a trained model answers: false keeps it from that. True changes
   * nothing unless the operator has only those recorded that ask for it (`recordings.record`). Default: as
   * the operator has it: recorded.
   */
  readonly store?: boolean | null;
  /** Texts by name that are recorded with the completion, by which it can be found. Default: `{}`. */
  readonly metadata?: { readonly [name: string]: string } | null;
};

export type Checkpoint = {
  readonly id: string;
  /** Version, policy version and step are one number. */
  readonly step: number;
  readonly metrics: { readonly [name: string]: number };
  readonly created_at: string;
  /** The job that made it; null for step 0, and for what was imported. */
  readonly job_id: string | null;
  /** Whether training goes on from where it was. */
  readonly has_optimizer_state: boolean;
  /** Whether it stays until it is unpinned. */
  readonly pinned: boolean;
  /**
   * SHA-256 of the base model's weights that it was trained over; over others it is refused with 409.
   * `files:` stands before a hash of all files, of which it is known alone; null for step 0, and where
   * nothing is known.
   */
  readonly base_hash: string | null;
  /**
   * SHA-256 over the adapter's two files, which is compared whenever they are loaded or exported; null for
   * step 0, and until it is recorded.
   */
  readonly adapter_hash: string | null;
};

export type CheckpointDelete = {
  /**
   * The versions to delete. Step 0 counts as deleted and stays servable; the model's name stands for the
   * newest that is left.
   */
  readonly steps: readonly number[];
};

export type Choice = {
  readonly index: number;
  readonly message: AssistantMessage;
  readonly logprobs: {
    /** One entry for each token. */
    readonly content: readonly {
      /** The token's text, or `token_id:<N>`. */
      readonly token: string;
      /** Natural logarithm; -9999 for what is impossible. */
      readonly logprob: number;
      /** The text's bytes; together they are the answer's. */
      readonly bytes: readonly number[];
      readonly top_logprobs: readonly {
        /** The token's text, or `token_id:<N>`. */
        readonly token: string;
        /** Natural logarithm; -9999 for what is impossible. */
        readonly logprob: number;
        /** The text's bytes; together they are the answer's. */
        readonly bytes: readonly number[];
      }[];
    }[];
    readonly refusal: null;
  } | null;
  readonly finish_reason: "stop" | "length" | "tool_calls";
  /** The stop token that ended it. */
  readonly stop_reason: number | null;
  /** The stop string that ended it. */
  readonly matched_stop: string | null;
  /** With return_token_ids, and of trained models. */
  readonly token_ids: readonly number[] | null;
  readonly prompt_token_ids?: readonly number[];
};

export type ComparedAnswer = {
  /** The answer's reference, or that of the answer that it corrects. */
  readonly call: string;
  /** How it begins. */
  readonly text: string;
  /** Whether a person wrote it, in place of the answer. */
  readonly correction: boolean;
  /** The version that answered. */
  readonly step: number;
  /** Null where people did not rate it. */
  readonly reward: number | null;
  /** Whose feedback has it stand here. */
  readonly people: number;
  /** The records that count; the first hundred. */
  readonly feedback_ids: readonly string[];
};

export type Completion = {
  /** `cmpl-` and the request's id. */
  readonly id: string;
  readonly request_id: string;
  /** Seconds since 1970. */
  readonly created: number;
  /** The name asked for, or the default model's. */
  readonly model: string;
  readonly service_tier: "default";
  /** Names base, version and engine build. */
  readonly system_fingerprint: string;
  readonly object: "text_completion";
  readonly choices: readonly {
    /** The prompt's index times n, and the answer's. */
    readonly index: number;
    readonly text: string;
    readonly logprobs: {
      /** Each token's text, or `token_id:<N>`. */
      readonly tokens: readonly string[];
      /** Natural logarithms; null for the first token of a prompt. */
      readonly token_logprobs: readonly (number | null)[];
      /** By text: the token itself, then the alternatives, most probable first. */
      readonly top_logprobs: readonly ({ readonly [name: string]: number } | null)[];
      /** Where each token's text begins in the choice's, in characters. */
      readonly text_offset: readonly number[];
    } | null;
    readonly finish_reason: "stop" | "length";
    /** The stop token that ended it. */
    readonly stop_reason: number | null;
    /** The stop string that ended it. */
    readonly matched_stop: string | null;
    /** With return_token_ids. */
    readonly token_ids: readonly number[] | null;
    /** With return_token_ids. */
    readonly prompt_token_ids: readonly number[] | null;
    /**
     * One object for each token of the prompt, by token id: the token itself, then the alternatives; null for
     * the first.
     */
    readonly prompt_logprobs: readonly ({ readonly [name: string]: {
      readonly logprob: number;
      readonly rank: number;
      readonly decoded_token: string | null;
    } } | null)[] | null;
  }[];
  readonly usage: {
    /** Tokens of the prompt, once whatever n is. */
    readonly prompt_tokens: number;
    /** Tokens of all choices. */
    readonly completion_tokens: number;
    /** Both together. */
    readonly total_tokens: number;
    readonly prompt_tokens_details: {
      /** Tokens of the prompt, from its first on, that an earlier request had computed. */
      readonly cached_tokens: number;
    };
  };
  readonly kv_transfer_params: { readonly [name: string]: unknown } | null;
};

export type CompletionChunk = {
  /** `cmpl-` and the request's id. */
  readonly id: string;
  readonly request_id: string;
  /** Seconds since 1970. */
  readonly created: number;
  /** The name asked for, or the default model's. */
  readonly model: string;
  readonly service_tier: "default";
  /** Names base, version and engine build. */
  readonly system_fingerprint: string;
  readonly object: "text_completion";
  /** One at a time; none in the chunk with the usage. */
  readonly choices: readonly {
    /** The prompt's index times n, and the answer's. */
    readonly index: number;
    readonly text: string;
    readonly logprobs: {
      /** Each token's text, or `token_id:<N>`. */
      readonly tokens: readonly string[];
      /** Natural logarithms; null for the first token of a prompt. */
      readonly token_logprobs: readonly (number | null)[];
      /** By text: the token itself, then the alternatives, most probable first. */
      readonly top_logprobs: readonly ({ readonly [name: string]: number } | null)[];
      /** Where each token's text begins in the choice's, in characters. */
      readonly text_offset: readonly number[];
    } | null;
    /** In the last chunk of the choice, whose text is empty. */
    readonly finish_reason: "stop" | "length" | null;
    /** The stop token that ended it. */
    readonly stop_reason?: number | null;
    /** The stop string that ended it. */
    readonly matched_stop?: string | null;
    readonly token_ids: readonly number[] | null;
    /** In the first chunk of the choice, with return_token_ids. */
    readonly prompt_token_ids?: readonly number[] | null;
  }[];
  readonly usage?: {
    /** Tokens of the prompt, once whatever n is. */
    readonly prompt_tokens: number;
    /** Tokens of all choices. */
    readonly completion_tokens: number;
    /** Both together. */
    readonly total_tokens: number;
    readonly prompt_tokens_details: {
      /** Tokens of the prompt, from its first on, that an earlier request had computed. */
      readonly cached_tokens: number;
    };
  };
};

export type CompletionRequest = {
  /**
   * What the answer goes on with, as it stands: a text, a list of texts, token ids, or a list of lists of
   * token ids. No chat template is used. Several prompts are answered at once, the choices of each after
   * those of the one before; one that fails fails all.
   */
  readonly prompt: string | readonly (string | number | readonly number[])[];
  /**
   * Most tokens of an answer; cut to the room that is left, -1 for no limit. With 0 nothing is answered but
   * the prompt: with echo and logprobs that scores it. Default: `16`.
   */
  readonly max_tokens?: number | null;
  /**
   * Returns each token's log-probability, before bias, penalties and temperature, with so many alternatives;
   * with echo the prompt's too. The answers of a prompt have at most 4,194,304 together. Default: none.
   */
  readonly logprobs?: number | null;
  /** Puts the prompt's text before the answer's. Default: `false`. */
  readonly echo?: boolean | null;
  /**
   * Adds the tokenizer's special tokens, such as one that begins a text, to a prompt that is a text. Default:
   * `true`.
   */
  readonly add_special_tokens?: boolean;
  /** How many answers are drawn: all are returned, so it can only be n. Default: n. */
  readonly best_of?: number | null;
  /** What comes after the answer: refused unless empty. Default: none. */
  readonly suffix?: string | null;
  /**
   * A base model, or a trained one by id, name, project/name or entity/project/name, each with :stepN or
   * :latest where wanted. Default: the server's default model.
   */
  readonly model?: string | null;
  /** The id of the answer, after `chatcmpl-`; one that is running is refused. Default: a fresh one. */
  readonly request_id?: string;
  /** Whom the request is for, in the client's words; accepted without use. Default: nobody. */
  readonly user?: string | null;
  /**
   * Lower is answered earlier, and takes room from what is higher; anything but 0 is refused unless the model
   * is scheduled by priority. Default: `0`.
   */
  readonly priority?: number;
  /**
   * Keeps what is computed of the prompt from requests of the same entity with another salt or none, which
   * could else find out by the time to the first token, or by `cached_tokens`, that somebody sent the same.
   * Other entities never share it. Default: none.
   */
  readonly cache_salt?: string | null;
  /**
   * Has a prompt computed by one server and answered by another, as proxies before vLLM's servers ask for it:
   * see [prefill-and-decode.md](prefill-and-decode.md). Refused unless the operator has servers share a
   * secret (`transfer.secret`). Default: the prompt is computed and answered here.
   */
  readonly kv_transfer_params?: KvTransferParams | null;
  /**
   * Keeps the last so many tokens of the prompt; -1 as many as fit beside max_completion_tokens. Default: a
   * prompt that does not fit is refused.
   */
  readonly truncate_prompt_tokens?: number | null;
  /** Answers as server-sent events. Default: `false`. */
  readonly stream?: boolean | null;
  /**
   * Whether a stream ends with the usage, and carries it in every chunk; only with stream. Default: neither.
   */
  readonly stream_options?: StreamOptions | null;
  /** Spells tokens of log-probabilities as token_id:<N>. Default: `false`. */
  readonly return_tokens_as_token_ids?: boolean | null;
  /**
   * Searches the n most probable answers with n beams instead of drawing, and returns them whole, the best
   * first; fewer where a constraint leaves fewer. temperature and seed have no effect; stop, top_p, top_k,
   * min_p, logit_bias, penalties and logits_processors are refused beside it. Default: `false`.
   */
  readonly use_beam_search?: boolean;
  /** How many answers; the width of a beam search. Default: `1`. */
  readonly n?: number | null;
  /**
   * How beam search weighs length: an answer's summed log-probability is divided by its length, prompt
   * included and without the token that ended it, to this power. Needs use_beam_search. Default: `1`.
   */
  readonly length_penalty?: number;
  /**
   * Fewest tokens of an answer: what would end it is not drawn before, unless nothing else may come, as where
   * it is complete under its constraint. Default: `0`.
   */
  readonly min_tokens?: number;
  /**
   * One text or several that end the answer, and are not part of it; the one that is completed first wins.
   * Default: `[]`.
   */
  readonly stop?: string | readonly string[] | null;
  /** Token ids that end the answer, beside the model's own; `stop_reason` says which. Default: `[]`. */
  readonly stop_token_ids?: readonly number[] | null;
  /** The model's own end does not end the answer; stop_token_ids still do. Default: `false`. */
  readonly ignore_eos?: boolean;
  /**
   * Shows the text that ended the answer: the stop string, or that of the stop token unless it is special and
   * these are skipped. Default: `false`.
   */
  readonly include_stop_str_in_output?: boolean;
  /**
   * Returns how probable each token of the prompt was after those before it, with its rank and so many
   * alternatives; 0 gives the tokens alone. Not in a stream. Default: none.
   */
  readonly prompt_logprobs?: number | null;
  /**
   * Returns the ids of prompt and answer; in the choices of a trained model they are unless it is false.
   * Default: false; a trained model's choices have them.
   */
  readonly return_token_ids?: boolean | null;
  /** Leaves special tokens out of the text. Default: `true`. */
  readonly skip_special_tokens?: boolean;
  /**
   * Accepted without use: the tokenizers served here put no blanks between special tokens, so both values
   * mean the same. Default: `true`.
   */
  readonly spaces_between_special_tokens?: boolean;
  /**
   * Divides the logits; 0 is greedy, and what is between 0 and 0.01 counts as 0.01. Default: the model's own,
   * else 1.
   */
  readonly temperature?: number | null;
  /**
   * Draws among the fewest most probable tokens that have this much together. Default: the model's own, else
   * 1.
   */
  readonly top_p?: number | null;
  /** Draws among so many most probable tokens; 0 and -1 among all. Default: the model's own, else 0. */
  readonly top_k?: number | null;
  /**
   * Leaves out tokens less probable than this part of the most probable one. Default: the model's own, else
   * 0.
   */
  readonly min_p?: number | null;
  /**
   * Leaves out tokens whose logit is more than so many standard deviations of the logits below the greatest,
   * whatever the temperature, before min_p, top_k and top_p; 0 and less leave out none. Default: `0`.
   */
  readonly top_n_sigma?: number | null;
  /**
   * Divides the positive logits of tokens that prompt or answer have, and multiplies their negative ones.
   * Default: the model's own, else 1.
   */
  readonly repetition_penalty?: number | null;
  /** Subtracted from a token's logit for each time the answer has it. Default: `0`. */
  readonly frequency_penalty?: number | null;
  /** Subtracted from the logit of each token that the answer has. Default: `0`. */
  readonly presence_penalty?: number | null;
  /** Added to the logits of these token ids, greedy or not. Default: none. */
  readonly logit_bias?: { readonly [name: string]: number } | null;
  /** Only these token ids may be drawn; the model's end is not among them by itself. Default: all. */
  readonly allowed_token_ids?: readonly number[] | null;
  /**
   * Texts that the answer must not hold, as the model's tokens spell them at its beginning, and after a blank
   * where that takes as many tokens; other spellings get through. Default: `[]`.
   */
  readonly bad_words?: readonly string[];
  /**
   * Steps on the logits that the server has by name, with their arguments; in this order, after the logit
   * bias and before penalties. Default: none.
   */
  readonly logits_processors?: readonly (string | LogitsProcessorConstructor)[] | null;
  /**
   * Most tokens of a thought: the logits processor `thinking-budget` with this budget, for models whose
   * vocabulary has `<think>` and `</think>`. Default: none.
   */
  readonly thinking_token_budget?: number | null;
  /** Further arguments, which every logits processor of the request is given. Default: `{}`. */
  readonly vendor_xargs?: { readonly [name: string]: string | number | readonly (string | number)[] } | null;
  /** The same as vendor_xargs, by another name. Default: `{}`. */
  readonly vllm_xargs?: { readonly [name: string]: string | number | readonly (string | number)[] } | null;
  /**
   * Makes the answer reproducible, whatever else is being answered, where the model is `exact` in
   * `/v1/models`; of others the header `x-hone-notice` says that it does not. Default: a fresh one.
   */
  readonly seed?: number | null;
  /**
   * The one constraint that the answer must keep, which response_format may hold instead, and how JSON is
   * written. Default: none.
   */
  readonly structured_outputs?: StructuredOutputs | null;
  /**
   * The form that the answer must have: JSON, JSON of a schema, or a structural tag; `text` asks for none.
   * Default: none.
   */
  readonly response_format?: ResponseFormat | null;
  /** The same as structured_outputs.json, by the older name that vLLM had. Default: none. */
  readonly guided_json?: string | { readonly [name: string]: any } | null;
  /** The same as structured_outputs.regex, by the older name that vLLM had. Default: none. */
  readonly guided_regex?: string | null;
  /** The same as structured_outputs.choice, by the older name that vLLM had. Default: none. */
  readonly guided_choice?: readonly string[] | null;
  /** The same as structured_outputs.grammar, by the older name that vLLM had. Default: none. */
  readonly guided_grammar?: string | null;
  /** The same as structured_outputs.grammar, as llama.cpp has it. Default: none. */
  readonly grammar?: string | null;
  /** The same as structured_outputs.json, as llama.cpp has it. Default: none. */
  readonly json_schema?: string | { readonly [name: string]: any } | null;
  /** As Ollama has it: `json` holds the answer to any JSON object, a schema to JSON of it. Default: none. */
  readonly format?: "json" | { readonly [name: string]: any } | null;
  /** The same as structured_outputs.whitespace_pattern, by the older name that vLLM had. Default: none. */
  readonly guided_whitespace_pattern?: string | null;
  /** The same as structured_outputs._backend, by the older name that vLLM had. Default: auto. */
  readonly guided_decoding_backend?: string | null;
  /**
   * Whether the completion is recorded, where a trained model answers: false keeps it from that. True changes
   * nothing unless the operator has only those recorded that ask for it (`recordings.record`). Default: as
   * the operator has it: recorded.
   */
  readonly store?: boolean | null;
  /** Texts by name that are recorded with the completion, by which it can be found. Default: `{}`. */
  readonly metadata?: { readonly [name: string]: string } | null;
};

export type ConstraintCheck = {
  /** Whether the constraint is served exactly, from the first token of an answer on and along every test. */
  readonly served: boolean;
  /** Which kind of refusal. */
  readonly kind: string | null;
  /** The keyword that is refused. */
  readonly subject: string | null;
  /** Where it stands. */
  readonly place: string | null;
  /** Why, for people. */
  readonly reason: string | null;
  readonly tests: readonly {
    readonly valid: boolean | null;
    /** Whether an answer can be this value. */
    readonly accepted: boolean;
    /** The limit that was reached before it was known. */
    readonly limit: string | null;
    /** How much of the value's text stood there by then. */
    readonly place: string | null;
  }[];
  /** What to know of a constraint that is served: formats that are not known here. */
  readonly notices: readonly string[];
  readonly compile_ms: number;
};

export type ConstraintCheckRequest = {
  /** The model whose answers are meant, by any of its names; by default the server's default. */
  readonly model?: string | null;
  /**
   * The one constraint that the answer must keep, which response_format may hold instead, and how JSON is
   * written. Default: none.
   */
  readonly structured_outputs?: StructuredOutputs | null;
  /**
   * The form that the answer must have: JSON, JSON of a schema, or a structural tag; `text` asks for none.
   * Default: none.
   */
  readonly response_format?: ResponseFormat | null;
  /** Values to check the constraint with. */
  readonly tests?: readonly ConstraintTest[] | null;
};

export type ConstraintTest = {
  /** A value; for a constraint that is not JSON, a text. Its properties may stand in any order. */
  readonly data: unknown;
  /** What the client thinks of it; answered as it came. */
  readonly valid?: boolean | null;
};

export type ContentPart = {
  /** `text`, `input_text`, `output_text`, `refusal` or `thinking`. */
  readonly type: string;
  /** Of a text: the text. */
  readonly text?: unknown;
  /** Of a refusal: its text. */
  readonly refusal?: unknown;
  /** What was thought, for templates that read it here. */
  readonly thinking?: unknown;
  /** Accepted without use. */
  readonly annotations?: unknown;
  /** Accepted without use. */
  readonly logprobs?: unknown;
  readonly [name: string]: any;
};

export type Corrections = {
  /** Which feedback. Default: of any type. */
  readonly feedback_type?: string | null;
  /** Where in the payload the text is, as queries spell it. Default: `"correction"`. */
  readonly path?: string | null;
};

export type CustomDefinition = {
  /** What the model calls it by. */
  readonly name: string;
  /** What it does, for the model. */
  readonly description?: string | null;
  /** What the text is held to. */
  readonly format?: ToolFormat | null;
  readonly [name: string]: any;
};

export type CustomToolFormat = {
  /** `text`, or `grammar`. */
  readonly type: string;
  /** Of a grammar: `lark` or `regex`. */
  readonly syntax?: string | null;
  /** Of a grammar: what every call keeps. */
  readonly definition?: string | null;
  readonly [name: string]: any;
};

export type DetokenizeRequest = {
  /**
   * A base model, or a trained one by id, name, project/name or entity/project/name, each with :stepN or
   * :latest where wanted. Default: the server's default model.
   */
  readonly model?: string | null;
  /** Token ids. */
  readonly tokens: readonly number[];
};

export type Detokenized = {
  /** Their text, with that of special tokens. */
  readonly prompt: string;
};

export type EmbeddingRequest = {
  /**
   * A base model, or a trained one by id, name, project/name or entity/project/name, each with :stepN or
   * :latest where wanted. Default: the server's default model.
   */
  readonly model?: string | null;
  /**
   * What is embedded: a text, a list of texts, token ids, or a list of lists of token ids. A text gets the
   * tokenizer's special tokens and no chat template. One that cannot be embedded fails all.
   */
  readonly input: string | readonly (string | number | readonly number[])[];
  /**
   * Keeps so many of each embedding's first numbers, and brings them to length 1 again. That loses little
   * with models that were trained for it (Matryoshka), and may lose much with others. Default: all that the
   * model has.
   */
  readonly dimensions?: number | null;
  /**
   * How an embedding is written: as numbers, or its little-endian floats of 32 bits in base64. Default:
   * `"float"`.
   */
  readonly encoding_format?: "float" | "base64" | null;
  /** Whom the request is for, in the client's words; accepted without use. Default: nobody. */
  readonly user?: string | null;
};

export type Embeddings = {
  readonly object: "list";
  /** One for each input, in their order. */
  readonly data: readonly {
    readonly object: "embedding";
    /** The input's place. */
    readonly index: number;
    /** A vector of length 1: numbers, or floats in base64 where `encoding_format` says so. */
    readonly embedding: readonly number[] | string;
  }[];
  /** The name that was asked for. */
  readonly model: string;
  readonly usage: {
    /** Tokens of all inputs together. */
    readonly prompt_tokens: number;
    /** The same: nothing is answered with tokens. */
    readonly total_tokens: number;
  };
};

export type EntityLimits = {
  readonly entity: string;
  /** Requests to models in any minute. */
  readonly requests_per_minute: number | null;
  /** Tokens of prompts and answers together, in any minute. */
  readonly tokens_per_minute: number | null;
  /** Requests to models that are being answered at once. */
  readonly concurrent_requests: number | null;
  /** Of the requests that may wait for a model on a server, in percent. */
  readonly queue_percent: number | null;
  /** Training jobs that wait. */
  readonly queued_jobs: number | null;
};

export type EntityLimitsChange = {
  /** Requests to models in any minute. Null: no limit. */
  readonly requests_per_minute?: number | null;
  /** Tokens of prompts and answers together, in any minute. Null: no limit. */
  readonly tokens_per_minute?: number | null;
  /** Requests to models that are being answered at once. Null: no limit. */
  readonly concurrent_requests?: number | null;
  /** Of the requests that may wait for a model on a server, in percent. Null: no limit. */
  readonly queue_percent?: number | null;
  /** Training jobs that wait. Null: no limit. */
  readonly queued_jobs?: number | null;
};

export type ExampleConversation = {
  /** The conversation; what the assistant says in it trains. */
  readonly messages: readonly ExampleMessage[];
  /** The tools that the request has. */
  readonly tools?: readonly { readonly [name: string]: any }[] | null;
  /** As the request had them. */
  readonly documents?: readonly { readonly [name: string]: any }[] | null;
  /** As the request had it. */
  readonly chat_template?: string | null;
  /** As the request had them. */
  readonly chat_template_kwargs?: { readonly [name: string]: any } | null;
  /** As the request had it. */
  readonly reasoning_effort?: string | null;
  /** As the request had it. */
  readonly add_generation_prompt?: boolean | null;
  /** As the request had it. */
  readonly continue_final_message?: boolean | null;
  /** As the request had it. */
  readonly add_special_tokens?: boolean | null;
  /** As the request had it. */
  readonly truncate_prompt_tokens?: number | null;
  readonly [name: string]: any;
};

export type ExampleMessage = {
  /** Such as developer, system, user, assistant, tool; the chat template decides which there are. */
  readonly role: string;
  /** A text, or parts whose texts are joined. */
  readonly content?: string | readonly (string | ContentPart)[] | null;
  /** Who says it, for templates that show names. */
  readonly name?: string | null;
  /** Of a tool's message: which call it answers. */
  readonly tool_call_id?: string | null;
  /** Of an assistant's message: the calls that it made, as answers have them. */
  readonly tool_calls?: readonly MessageToolCall[] | null;
  /** Of an assistant's message: what it thought. */
  readonly reasoning?: unknown;
  /** The same by its other name. */
  readonly reasoning_content?: unknown;
  /** Of a refusal: its text. */
  readonly refusal?: unknown;
  /** Accepted without use. */
  readonly annotations?: unknown;
  /** What was thought, for templates that read it here. */
  readonly thinking?: unknown;
  /** Tools that the message brings, for templates that read them here. */
  readonly tools?: unknown;
  /** Of an assistant's message: the exact tokens that it answered, as its choice had them. */
  readonly prompt_token_ids?: readonly number[] | null;
  /**
   * Of an assistant's message: its own exact tokens. With prompt_token_ids the prompt begins with both, where
   * they are the text that the template renders; else the text is tokenized as always.
   */
  readonly token_ids?: readonly number[] | null;
  /** Of an assistant's message: 0 makes it context that does not train. Default: `1`. */
  readonly weight?: number | null;
  readonly [name: string]: any;
};

export type ExampleMessageOrChoice = {
  /** Such as developer, system, user, assistant, tool; the chat template decides which there are. */
  readonly role?: string;
  /** A text, or parts whose texts are joined. */
  readonly content?: string | readonly (string | ContentPart)[] | null;
  /** Who says it, for templates that show names. */
  readonly name?: string | null;
  /** Of a tool's message: which call it answers. */
  readonly tool_call_id?: string | null;
  /** Of an assistant's message: the calls that it made, as answers have them. */
  readonly tool_calls?: readonly MessageToolCall[] | null;
  /** Of an assistant's message: what it thought. */
  readonly reasoning?: unknown;
  /** The same by its other name. */
  readonly reasoning_content?: unknown;
  /** Of a refusal: its text. */
  readonly refusal?: unknown;
  /** Accepted without use. */
  readonly annotations?: unknown;
  /** What was thought, for templates that read it here. */
  readonly thinking?: unknown;
  /** Tools that the message brings, for templates that read them here. */
  readonly tools?: unknown;
  /** Of a Choice: the prompt's exact tokens. */
  readonly prompt_token_ids?: readonly number[] | null;
  /** Of a Choice: the answer's exact tokens. */
  readonly token_ids?: readonly number[] | null;
  /** Of an assistant's message: 0 makes it context that does not train. Default: `1`. */
  readonly weight?: number | null;
  /** With finish_reason makes the item a Choice, as it was answered. */
  readonly message?: { readonly [name: string]: any } | null;
  /** Of a Choice: what the tokens were and how probable, as it was answered. */
  readonly logprobs?: {
    /** One entry for each token of the answer. */
    readonly content?: readonly {
      /** The token's text, or `token_id:<N>`. */
      readonly token: string;
      /** Natural logarithm. */
      readonly logprob?: number | null;
      readonly [name: string]: any;
    }[] | null;
    /** As in OpenAI's answers; not read. */
    readonly refusal?: readonly {
      /** The token's text, or `token_id:<N>`. */
      readonly token: string;
      /** Natural logarithm. */
      readonly logprob?: number | null;
      readonly [name: string]: any;
    }[] | null;
    readonly [name: string]: any;
  } | null;
  /** As the request had them. */
  readonly documents?: readonly { readonly [name: string]: any }[] | null;
  /** As the request had it. */
  readonly chat_template?: string | null;
  /** As the request had them. */
  readonly chat_template_kwargs?: { readonly [name: string]: any } | null;
  /** As the request had it. */
  readonly reasoning_effort?: string | null;
  /** As the request had it. */
  readonly add_generation_prompt?: boolean | null;
  /** As the request had it. */
  readonly continue_final_message?: boolean | null;
  /** As the request had it. */
  readonly add_special_tokens?: boolean | null;
  /** As the request had it. */
  readonly truncate_prompt_tokens?: number | null;
  readonly [name: string]: any;
};

export type ExperimentalTrainingConfig = {
  /** Positive shrinks negative advantages, negative shrinks positive ones. Default: `0`. */
  readonly advantage_balance?: number | null;
  /**
   * Trains the texts of assistant messages, and of Choices without tokens, beside Choices with tokens.
   * Default: `false`.
   */
  readonly allow_training_without_logprobs?: boolean | null;
  /**
   * Of the products with the base model's weights: int8 takes a step faster over rounded weights, and the job
   * tells how far its log-probabilities are from those over float32. Default: float32.
   */
  readonly base_precision?: "float32" | "int8" | null;
  /**
   * Sequences of one optimizer step; not beside steps. Default: 1, unless the server counts tokens
   * (training.batchTokens).
   */
  readonly batch_size?: number | null;
  /** The same as batch_size, by another name. Default: as batch_size. */
  readonly grad_accumulation_sequences?: number | null;
  /** The lower bound of clipping is 1 - epsilon. Default: 1; 0.2 with ppo. */
  readonly epsilon?: number | null;
  /** The upper bound of clipping is 1 + epsilon_high. Default: 4; epsilon with ppo. */
  readonly epsilon_high?: number | null;
  /** Over what the ratio of new to old probability is taken. Default: `"token"`. */
  readonly importance_sampling_level?: "token" | "sequence" | "average" | "geometric_average" | null;
  /** Weight of the squared difference from the policy that sampled; 0 is off. Default: `0`. */
  readonly vendor_k2_tau?: number | null;
  /** The same as vendor_k2_tau, by another name. Default: `0`. */
  readonly kimi_k2_tau?: number | null;
  /**
   * Takes advantage from tokens that the model now finds likelier than the base model does, and gives it to
   * the others; 0 is off. Costs a forward pass of the base model. Default: `0`.
   */
  readonly kl_penalty_coef?: number | null;
  /**
   * Whose log-probabilities the penalty compares with the base model's: those of the model as it trains, or
   * those that were recorded as it was sampled. Default: `"current_learner"`.
   */
  readonly kl_penalty_source?: "current_learner" | "sample" | null;
  /** Of AdamW, of every step. Default: `0.0001`. */
  readonly learning_rate?: number | null;
  /** Leaves out tokens whose ratio is out of bounds instead of clipping it. Default: `false`. */
  readonly mask_prob_ratio?: boolean | null;
  /** Gradients are scaled down to this norm; 0 never scales. Default: left to the server, 0.1. */
  readonly max_grad_norm?: number | null;
  /**
   * Fails the job, which then makes no version, if it moves the policy by more than this from the one before
   * it, in nats a token (the version's loss/kl_update); 0 is off. Default: 0.
   */
  readonly max_kl_update?: number | null;
  /** Caps every ratio; 0 is off. Default: `0`. */
  readonly max_negative_advantage_importance_sampling_weight?: number | null;
  /** A step's learning rate is multiplied by the number of its sequences to this power. Default: `0`. */
  readonly num_trajectories_learning_rate_multiplier_power?: number | null;
  /**
   * A longer sequence is left out. Steps do not go by it, unless the server counts their tokens
   * (training.batchTokens). Default: left to the server.
   */
  readonly packed_sequence_length?: number | null;
  /** How often each sequence trains, in another order each time. Default: `1`. */
  readonly passes?: number | null;
  /** The same as passes, by another name. Default: `1`. */
  readonly num_epochs?: number | null;
  /** Clips as PPO does, instead of as CISPO does. Default: `false`. */
  readonly ppo?: boolean | null;
  /** The same as ppo, by name; wins over it. Default: `"cispo"`. */
  readonly loss_fn?: "cispo" | "ppo" | null;
  /**
   * Computes the old log-probabilities anew before the first step, instead of taking the recorded ones.
   * Default: `false`.
   */
  readonly precalculate_logprobs?: boolean | null;
  /** Divides a group's advantages by the standard deviation of its rewards. Default: `true`. */
  readonly scale_rewards?: boolean | null;
  /** The same as scale_rewards, by another name; wins over it. Default: `true`. */
  readonly normalize_advantages?: boolean | null;
  /**
   * Optimizer steps of a pass, into which the sequences are divided evenly: 1 takes one step over all. Not
   * beside batch_size; there are never more than sequences. Default: as batch_size makes.
   */
  readonly steps?: number | null;
  /**
   * With precalculate_logprobs each token counts for the ratio of the computed to the recorded probability,
   * up to this much; 0 is off. Not applied without. Default: `0`.
   */
  readonly truncated_importance_sampling?: number | null;
  /** Of AdamW, times the learning rate. Default: left to the server, 0.1. */
  readonly weight_decay?: number | null;
  /**
   * Refused with a value that asks for more than is done. The optimizer is AdamW with betas of 0.9 and 0.99.
   */
  readonly adam_beta1?: unknown;
  /**
   * Refused with a value that asks for more than is done. The optimizer is AdamW with betas of 0.9 and 0.99.
   */
  readonly adam_beta2?: unknown;
  /** Refused with a value that asks for more than is done. The optimizer is AdamW with an epsilon of 1e-8. */
  readonly adam_epsilon?: unknown;
  /**
   * Refused. The optimizer is AdamW with betas of 0.9 and 0.99. Its weight_decay and max_grad_norm are
   * options of their own.
   */
  readonly adam_params?: unknown;
  /** Accepted. Every job makes a version. */
  readonly final_training_step?: unknown;
  /** Refused with a value that asks for more than is done. Say batch_size, the sequences of a step. */
  readonly gradient_accumulation_steps?: unknown;
  /**
   * Refused. The shape of adapters is the model's: say lora_rank, lora_alpha and target_modules when it is
   * registered, before its first job.
   */
  readonly lora_alpha?: unknown;
  /**
   * Refused. The shape of adapters is the model's: say lora_rank, lora_alpha and target_modules when it is
   * registered, before its first job.
   */
  readonly lora_config?: unknown;
  /** Refused with a value that asks for more than is done. Adapters train without dropout. */
  readonly lora_dropout?: unknown;
  /**
   * Refused. The shape of adapters is the model's: say lora_rank, lora_alpha and target_modules when it is
   * registered, before its first job.
   */
  readonly lora_rank?: unknown;
  /**
   * Refused with a value that asks for more than is done. The learning rate stays as it is within a job; send
   * jobs with rates of their own.
   */
  readonly lr_scheduler?: unknown;
  /**
   * Refused with a value that asks for more than is done. The learning rate stays as it is within a job; send
   * jobs with rates of their own.
   */
  readonly lr_scheduler_type?: unknown;
  /** Refused with a value that asks for more than is done. Say steps and passes, or batch_size. */
  readonly max_steps?: unknown;
  /**
   * Refused with a value that asks for more than is done. The optimizer is AdamW with betas of 0.9 and 0.99.
   */
  readonly optim?: unknown;
  /** Accepted. The optimizer's state is kept with every version. */
  readonly optimizer_save_interval?: unknown;
  /**
   * Refused. The shape of adapters is the model's: say lora_rank, lora_alpha and target_modules when it is
   * registered, before its first job.
   */
  readonly peft_args?: unknown;
  /** Refused with a value that asks for more than is done. Every job makes a version. */
  readonly save_checkpoint?: unknown;
  /** Refused. What is random in a job is decided by its content: the same job trains the same. */
  readonly seed?: unknown;
  /** Refused. A job starts from the model's newest version. */
  readonly start_step?: unknown;
  /**
   * Refused. The shape of adapters is the model's: say lora_rank, lora_alpha and target_modules when it is
   * registered, before its first job.
   */
  readonly target_modules?: unknown;
  /**
   * Refused with a value that asks for more than is done. The learning rate stays as it is within a job; send
   * jobs with rates of their own.
   */
  readonly warmup_ratio?: unknown;
  /**
   * Refused with a value that asks for more than is done. The learning rate stays as it is within a job; send
   * jobs with rates of their own.
   */
  readonly warmup_steps?: unknown;
  /**
   * Refused with a value that asks for more than is done. Say kl_penalty_coef, which moves advantages; there
   * is no KL term in the loss.
   */
  readonly beta?: unknown;
  /** Refused. Say epsilon and epsilon_high: ratios are clipped to [1 - epsilon, 1 + epsilon_high]. */
  readonly clip_ratio?: unknown;
  /** Refused. Say epsilon and epsilon_high: ratios are clipped to [1 - epsilon, 1 + epsilon_high]. */
  readonly clip_ratio_c?: unknown;
  /** Refused. Say epsilon and epsilon_high: ratios are clipped to [1 - epsilon, 1 + epsilon_high]. */
  readonly clip_ratio_high?: unknown;
  /** Refused. Say epsilon and epsilon_high: ratios are clipped to [1 - epsilon, 1 + epsilon_high]. */
  readonly clip_ratio_low?: unknown;
  /** Refused. Say epsilon and epsilon_high: ratios are clipped to [1 - epsilon, 1 + epsilon_high]. */
  readonly cliprange?: unknown;
  /**
   * Refused. Say epsilon and epsilon_high: ratios are clipped to [1 - epsilon, 1 + epsilon_high]. Ratios of
   * both signs are capped by max_negative_advantage_importance_sampling_weight.
   */
  readonly delta?: unknown;
  /**
   * Refused with a value that asks for more than is done. A group whose rewards are all equal is skipped;
   * send others.
   */
  readonly dynamic_sampling?: unknown;
  /**
   * Refused with a value that asks for more than is done. The loss has no entropy term; sample at a higher
   * temperature, or lower learning_rate.
   */
  readonly entropy_coef?: unknown;
  /**
   * Refused with a value that asks for more than is done. The loss has no entropy term; sample at a higher
   * temperature, or lower learning_rate.
   */
  readonly entropy_coeff?: unknown;
  /**
   * Refused with a value that asks for more than is done. The loss has no entropy term; sample at a higher
   * temperature, or lower learning_rate.
   */
  readonly entropy_loss_coef?: unknown;
  /** Refused. Say epsilon and epsilon_high: ratios are clipped to [1 - epsilon, 1 + epsilon_high]. */
  readonly eps_clip?: unknown;
  /** Refused. Say epsilon and epsilon_high: ratios are clipped to [1 - epsilon, 1 + epsilon_high]. */
  readonly eps_clip_high?: unknown;
  /** Refused. Say epsilon and epsilon_high: ratios are clipped to [1 - epsilon, 1 + epsilon_high]. */
  readonly eps_clip_low?: unknown;
  /**
   * Refused with a value that asks for more than is done. A trajectory has one reward, which all of its
   * tokens share.
   */
  readonly gamma?: unknown;
  /** Refused. Say max_grad_norm. */
  readonly grad_clip?: unknown;
  /**
   * Refused with a value that asks for more than is done. Say kl_penalty_coef, which moves advantages; there
   * is no KL term in the loss.
   */
  readonly init_kl_coef?: unknown;
  /**
   * Refused with a value that asks for more than is done. Say kl_penalty_coef, which moves advantages; there
   * is no KL term in the loss.
   */
  readonly kl_coef?: unknown;
  /**
   * Refused with a value that asks for more than is done. Say kl_penalty_coef, which moves advantages; there
   * is no KL term in the loss.
   */
  readonly kl_loss_coef?: unknown;
  /** Refused. Say kl_penalty_coef, which moves advantages; there is no KL term in the loss. */
  readonly kl_loss_type?: unknown;
  /** Refused with a value that asks for more than is done. The base model, step 0, is the reference. */
  readonly kl_penalty_reference_step?: unknown;
  /** Refused. The base model, step 0, is the reference, and does not move. */
  readonly kl_penalty_step_lag?: unknown;
  /** Refused. The base model, step 0, is the reference. */
  readonly kl_ref_adapter_path?: unknown;
  /** Accepted. The memory that training takes has settings. */
  readonly logprob_calculation_chunk_size?: unknown;
  /** Refused. The options of the loss stand beside it. */
  readonly loss_fn_config?: unknown;
  /**
   * Refused with a value that asks for more than is done. Advantages are those of the group; there is no
   * critic.
   */
  readonly lam?: unknown;
  /** Refused. The loss is the mean over a step's tokens, each trajectory weighing alike. */
  readonly loss_agg_mode?: unknown;
  /** Refused. The loss is the mean over a step's tokens, each trajectory weighing alike. */
  readonly loss_reduction?: unknown;
  /**
   * Refused with a value that asks for more than is done. The loss is the mean over a step's tokens, each
   * trajectory weighing alike.
   */
  readonly loss_type?: unknown;
  /**
   * Refused with a value that asks for more than is done. Answers that were cut off train as the others do,
   * by the reward that you give them; leave their trajectories out, or reward them less.
   */
  readonly mask_truncated_completions?: unknown;
  /** Refused. Say max_completion_tokens in the rollouts' requests; nothing is cut in training. */
  readonly max_completion_length?: unknown;
  /** Refused. Nothing is cut; what is too long is left out (packed_sequence_length). */
  readonly max_prompt_length?: unknown;
  /** Refused. There are no experts to route to. */
  readonly moe_routing_replay_bundle?: unknown;
  /** Refused. There are no experts to route to. */
  readonly moe_routing_replay_path?: unknown;
  /** Accepted. There are no experts to route to. */
  readonly moe_routing_replay_strict?: unknown;
  /** Refused with a value that asks for more than is done. Say passes. */
  readonly num_iterations?: unknown;
  /**
   * Refused. Answers that were cut off train as the others do, by the reward that you give them; leave their
   * trajectories out, or reward them less.
   */
  readonly overlong_buffer_len?: unknown;
  /**
   * Refused with a value that asks for more than is done. Answers that were cut off train as the others do,
   * by the reward that you give them; leave their trajectories out, or reward them less.
   */
  readonly overlong_filtering?: unknown;
  /** Refused with a value that asks for more than is done. Nothing is plotted. */
  readonly plot_tensors?: unknown;
  /** Refused. Say loss_fn, cispo or ppo. */
  readonly policy_loss_type?: unknown;
  /** Refused with a value that asks for more than is done. Say passes. */
  readonly ppo_epochs?: unknown;
  /** Refused. Say batch_size, the sequences of a step. */
  readonly ppo_mini_batch_size?: unknown;
  /** Refused. A trajectory has one reward; weigh its parts before sending it. */
  readonly reward_weights?: unknown;
  /** Refused with a value that asks for more than is done. The learning rate does not follow the rewards. */
  readonly scale_learning_rate_by_reward_std_dev?: unknown;
  /**
   * Refused with a value that asks for more than is done. The base model, step 0, is the reference, and does
   * not move.
   */
  readonly sync_ref_model?: unknown;
  /** Refused. Say max_kl_update, above which a job fails; steps do not end early. */
  readonly target_kl?: unknown;
  /** Refused with a value that asks for more than is done. All tokens of an answer train. */
  readonly top_entropy_quantile?: unknown;
  /**
   * Refused with a value that asks for more than is done. The loss has no entropy term; sample at a higher
   * temperature, or lower learning_rate.
   */
  readonly use_entropy_loss?: unknown;
  /**
   * Refused with a value that asks for more than is done. Say kl_penalty_coef, which moves advantages; there
   * is no KL term in the loss.
   */
  readonly use_kl_loss?: unknown;
};

export type Feedback = {
  readonly id: string;
  /** UTC. */
  readonly created_at: string;
  /** The owner of the key that wrote it. */
  readonly vendor_user_id: string;
  /** The same, where the request was in this spelling. */
  readonly wb_user_id?: string;
  readonly payload: { readonly [name: string]: unknown };
};

export type FeedbackBatchCreateReq = {
  /** All are written, or none. */
  readonly batch: readonly FeedbackCreateReq[];
};

export type FeedbackCreateReq = {
  /** `<entity>/<project>`. */
  readonly project_id: string;
  /** What the feedback is on: an object, an op or a call; this or weave_ref must be there. */
  readonly vendor_ref?: string | null;
  /** The same as vendor_ref, by another name. */
  readonly weave_ref?: string | null;
  /** Which kind of feedback; some have payloads of a known form. */
  readonly feedback_type: string;
  /** What is said; at most 1 MiB of JSON. */
  readonly payload: { readonly [name: string]: any };
  /** Of the record; the same id with the same content again adds nothing. Default: a fresh one. */
  readonly id?: string | null;
  /** Who said it, in the client's words. */
  readonly creator?: string | null;
  /** The `object/` that asked for it. */
  readonly annotation_ref?: string | null;
  /** The `op/` or `object/` that judged. */
  readonly runnable_ref?: string | null;
  /** The `call/` in which it judged. */
  readonly call_ref?: string | null;
  /** The `object/` that had it judged. */
  readonly trigger_ref?: string | null;
  /** The annotation queue it came from. */
  readonly queue_id?: string | null;
  /** The server fills it. */
  readonly vendor_user_id?: null;
  /** The server fills it. */
  readonly wb_user_id?: null;
};

export type FeedbackExportReq = {
  /** `<entity>/<project>`. */
  readonly project_id: string;
  /** Which records: as queries have it; all unless given. */
  readonly query?: { readonly [name: string]: any } | null;
  /** The fields of each record, as queries have them, under exactly these names. All unless given. */
  readonly fields?: readonly string[] | null;
  /**
   * A JSON object a line, or CSV (RFC 4180) with a column for each field, where objects and lists are JSON
   * and a text that a spreadsheet would take for a formula has a `'` before it. Default: `"jsonl"`.
   */
  readonly format?: "jsonl" | "csv" | null;
  /**
   * The id of the last record that you have: what was stored behind it comes. So an export goes on that broke
   * off, and has what is new since one that ended.
   */
  readonly after?: string | null;
  /** Of CSV, whether the names of the columns come first. Default: true without `after`. */
  readonly header?: boolean | null;
};

export type FeedbackHistoryReq = {
  /** `<entity>/<project>`. */
  readonly project_id: string;
  /** The record. */
  readonly feedback_id: string;
  /** The `revision_id` that the page before ended with. */
  readonly after?: string | null;
  /** Most revisions of the page. Default: `100`. */
  readonly limit?: number | null;
};

export type FeedbackJob = {
  /** The job's; null of a dry run, and where there was nothing to train on. */
  readonly id: string | null;
  readonly dry_run: boolean;
  readonly counts: {
    /** Records that the rule may read. */
    readonly feedback: number;
    /** Prompts with answers that train. */
    readonly groups: number;
    /** That train. */
    readonly answers: number;
    readonly compared: number;
    /** Whose feedback counts, on all answers. */
    readonly people: number;
    /** Of the prompts and answers that train. */
    readonly tokens: number;
    /** Answers that do not train, by the reason. */
    readonly left_out: { readonly [name: string]: number };
  };
  /** What the reasons that there are mean. */
  readonly reasons: { readonly [name: string]: string };
  /** The first hundred. */
  readonly groups: readonly {
    /** How it begins. */
    readonly prompt: string;
    readonly answers: readonly RewardedAnswer[];
  }[];
  /** The first hundred. */
  readonly left_out: readonly LeftOutAnswer[];
};

export type FeedbackJobCreate = {
  /** The model to train, whose answers the feedback is on. */
  readonly model_id: string;
  /** How feedback becomes a reward; either this or rule_id. */
  readonly rule?: {
    /** How feedback becomes a reward. */
    readonly terms: readonly RewardTerm[];
  } | null;
  /** A reward rule of the model's project. */
  readonly rule_id?: string | null;
  /**
   * Which feedback of the model's project: `{"$expr": …}` in the language of `/feedback/query`. Default: all
   * that the rule reads.
   */
  readonly filter?: { readonly [name: string]: any } | null;
  /** Feedback from then on alone. */
  readonly since?: string | null;
  /** Answers of versions that are more versions older than the newest do not train. Default: any. */
  readonly version_age_max?: number | null;
  /** Feedback from before then alone. */
  readonly until?: string | null;
  /** Answers what the job would train on and what not, and makes none. Default: `false`. */
  readonly dry_run?: boolean | null;
  /** How it is trained, as for any training job; what is not applied is listed in the job. */
  readonly experimental_config?: ExperimentalTrainingConfig | null;
  /** Most groups of the job; what is left is for the next. Default: `512`. */
  readonly groups_max?: number | null;
};

export type FeedbackNumbers = {
  /** Records that have a number there. */
  readonly count: number;
  readonly mean: number;
  /** Of a sample; null of a single number. */
  readonly standard_deviation: number | null;
  readonly min: number;
  readonly max: number;
  /**
   * Between the two nearest, in proportion, as NumPy has it; null, as `p95` and `histogram`, where there were
   * more numbers than are kept.
   */
  readonly p50: number | null;
  readonly p95: number | null;
  /** How many lie in each of twenty equal parts of the range; the last one holds `max` too. */
  readonly histogram: readonly number[] | null;
};

export type FeedbackPathStats = {
  /** As queries name it. */
  readonly path: string;
  /** Records that have a value there. */
  readonly count: number;
  /** How many of them are what. */
  readonly kinds: {
    readonly number?: number;
    readonly text?: number;
    readonly boolean?: number;
    readonly null?: number;
    readonly list?: number;
  };
  /** Null where none is a number. */
  readonly numbers: FeedbackNumbers | null;
  /**
   * How often each comes, the most frequent first; null where there are more than 50, or texts of more than
   * 200 characters.
   */
  readonly values: readonly {
    readonly value: string | number | boolean;
    readonly count: number;
  }[] | null;
};

export type FeedbackPreferenceJob = {
  /** The job's; null of a dry run, and where there was nothing to train on. */
  readonly id: string | null;
  readonly dry_run: boolean;
  readonly counts: {
    /** Records that may be read. */
    readonly feedback: number;
    readonly prompts: number;
    /** That train, with kto answers. */
    readonly pairs: number;
    /** Pairs of which one is a correction. */
    readonly corrections: number;
    /** Whose feedback counts, on all answers. */
    readonly people: number;
    /** Answers that are in no pair, by the reason. */
    readonly left_out: { readonly [name: string]: number };
  };
  /** What the reasons that there are mean. */
  readonly reasons: { readonly [name: string]: string };
  /** The first hundred; with kto one of the two may be null. */
  readonly pairs: readonly {
    /** How it begins. */
    readonly prompt: string;
    readonly chosen: ComparedAnswer | null;
    readonly rejected: ComparedAnswer | null;
  }[];
  /** The first hundred. */
  readonly left_out: readonly LeftOutAnswer[];
};

export type FeedbackPreferenceJobCreate = {
  /** The model to train, whose answers the feedback is on. */
  readonly model_id: string;
  /** How feedback becomes a reward; either this or rule_id. */
  readonly rule?: {
    /** How feedback becomes a reward. */
    readonly terms: readonly RewardTerm[];
  } | null;
  /** A reward rule of the model's project. */
  readonly rule_id?: string | null;
  /**
   * Which feedback of the model's project: `{"$expr": …}` in the language of `/feedback/query`. Default: all
   * that the rule reads.
   */
  readonly filter?: { readonly [name: string]: any } | null;
  /** Feedback from then on alone. */
  readonly since?: string | null;
  /** Answers of versions that are more versions older than the newest do not train. Default: any. */
  readonly version_age_max?: number | null;
  /** Feedback from before then alone. */
  readonly until?: string | null;
  /** Answers what the job would train on and what not, and makes none. Default: `false`. */
  readonly dry_run?: boolean | null;
  /**
   * Feedback on an answer that holds what should have been answered: that is preferred to the answer. {}
   * reads `correction` of any payload. Default: none is read.
   */
  readonly corrections?: Corrections | null;
  /** By how much the rewards of a pair differ at least; not with kto. Default: `0`. */
  readonly margin_min?: number | null;
  /**
   * With kto: people wanted the answers whose reward is greater, and did not want those whose reward is
   * smaller. Default: 0.5 with kto.
   */
  readonly threshold?: number | null;
  /** Most pairs of the job, with kto answers; what is left is for the next. Default: `2048`. */
  readonly pairs_max?: number | null;
  /** How it is trained. */
  readonly config?: PreferenceConfig | null;
};

export type FeedbackPurgeReq = {
  /** `<entity>/<project>`. */
  readonly project_id: string;
  /** Which records: one whose id is equal to a text, or, with `$or`, up to ten thousand of those. */
  readonly query: { readonly [name: string]: any };
};

export type FeedbackQueryReq = {
  /** `<entity>/<project>`. */
  readonly project_id: string;
  /** Which records: `{"$expr": …}` in the language of queries; all unless given. */
  readonly query?: { readonly [name: string]: any } | null;
  /**
   * By what they are sorted. Records that have a value come first, of values of the payload numbers before
   * other texts; what is equal stays in the order in which it was stored.
   */
  readonly sort_by?: readonly {
    /** As `fields` has them. */
    readonly field: string;
    /** From the least on, or from the greatest. */
    readonly direction: "asc" | "desc";
  }[] | null;
  /**
   * The fields of each row, under exactly these names: those of a record, `payload.<path>`, `*` for all, or
   * `count(*)` alone. All unless given.
   */
  readonly fields?: readonly string[] | null;
  /** Most records of the answer, which has up to 4 MiB of them, but at least one. Default: `1000`. */
  readonly limit?: number | null;
  /** Records that are passed over. Default: `0`. */
  readonly offset?: number | null;
};

export type FeedbackRecord = {
  readonly id: string;
  /** UTC. */
  readonly created_at: string;
  /** The owner of the key that wrote it. */
  readonly vendor_user_id: string;
  /** The same, where the request was in this spelling. */
  readonly wb_user_id?: string;
  readonly payload: { readonly [name: string]: unknown };
  readonly project_id: string;
  readonly vendor_ref: string;
  readonly weave_ref: string;
  readonly feedback_type: string;
  readonly creator: string | null;
  readonly annotation_ref: string | null;
  readonly runnable_ref: string | null;
  readonly call_ref: string | null;
  readonly trigger_ref: string | null;
  readonly queue_id: string | null;
};

export type FeedbackReplaceReq = {
  /** `<entity>/<project>`. */
  readonly project_id: string;
  /** What the feedback is on: an object, an op or a call; this or weave_ref must be there. */
  readonly vendor_ref?: string | null;
  /** The same as vendor_ref, by another name. */
  readonly weave_ref?: string | null;
  /** Which kind of feedback; some have payloads of a known form. */
  readonly feedback_type: string;
  /** What is said; at most 1 MiB of JSON. */
  readonly payload: { readonly [name: string]: any };
  /** Of the record; the same id with the same content again adds nothing. Default: a fresh one. */
  readonly id?: string | null;
  /** Who said it, in the client's words. */
  readonly creator?: string | null;
  /** The `object/` that asked for it. */
  readonly annotation_ref?: string | null;
  /** The `op/` or `object/` that judged. */
  readonly runnable_ref?: string | null;
  /** The `call/` in which it judged. */
  readonly call_ref?: string | null;
  /** The `object/` that had it judged. */
  readonly trigger_ref?: string | null;
  /** The annotation queue it came from. */
  readonly queue_id?: string | null;
  /** The server fills it. */
  readonly vendor_user_id?: null;
  /** The server fills it. */
  readonly wb_user_id?: null;
  /** The record to replace. */
  readonly feedback_id: string;
};

export type FeedbackRevision = {
  readonly id: string;
  /** UTC. */
  readonly created_at: string;
  /** The owner of the key that wrote it. */
  readonly vendor_user_id: string;
  /** The same, where the request was in this spelling. */
  readonly wb_user_id?: string;
  readonly payload: { readonly [name: string]: unknown };
  readonly project_id: string;
  readonly vendor_ref: string;
  readonly weave_ref: string;
  readonly feedback_type: string;
  readonly creator: string | null;
  readonly annotation_ref: string | null;
  readonly runnable_ref: string | null;
  readonly call_ref: string | null;
  readonly trigger_ref: string | null;
  readonly queue_id: string | null;
  /** What `after` takes for the next page. */
  readonly revision_id: string;
  readonly replaced_at: string;
};

export type FeedbackStats = {
  /** Of the records, counted. */
  readonly total_count: number;
  /**
   * What `paths` are about: counted in the records of the sample, so that a count of all is about so many
   * divided by `share`.
   */
  readonly sample: {
    /** The part of the records that was read; 1 for all. */
    readonly share: number;
    /** Records that were read. */
    readonly count: number;
    /** Which, in words. */
    readonly rule: string;
  };
  /** The hundred most frequent, the first of them first. */
  readonly types: readonly FeedbackTypeStats[];
  /** Records of further types. */
  readonly other_types: number;
};

export type FeedbackStatsReq = {
  /** `<entity>/<project>`. */
  readonly project_id: string;
  /** Over which records: as queries have it; all unless given. */
  readonly query?: { readonly [name: string]: any } | null;
};

export type FeedbackTypeStats = {
  readonly feedback_type: string;
  /** Of its records, counted. */
  readonly count: number;
  /** Of those that were read. */
  readonly sample_count: number;
  /** What their payloads hold, the most frequent first. */
  readonly paths: readonly FeedbackPathStats[];
  /** Values of which nothing is said, since there are more than 100 paths, or they are too long. */
  readonly other_values: number;
};

export type FileObject = {
  readonly id: string;
  readonly object: "file";
  readonly bytes: number;
  /** Seconds since 1970. */
  readonly created_at: number;
  readonly filename: string;
  readonly purpose: string;
  /** A file is ready when it is answered. */
  readonly status: "processed";
};

export type FileUpload = {
  /** What it is for. */
  readonly purpose: "fine-tune";
  /** Its bytes, with its name. */
  readonly file: string;
};

export type FunctionDefinition = {
  /** What the model calls it by. */
  readonly name: string;
  /** What it does, for the model. */
  readonly description?: string | null;
  /** JSON Schema of the arguments. */
  readonly parameters?: { readonly [name: string]: any } | null;
  /** Arguments follow the schema exactly. */
  readonly strict?: boolean | null;
  readonly [name: string]: any;
};

export type Health = {
  readonly status: "ok" | "unavailable";
  /** `ready`, `starting`, `restarting`, `waiting` (for its database), `draining`, `failed` or `stopped`. */
  readonly state: string;
  /**
   * Why it is not ready, or which base models could not be loaded while the others are served; else empty.
   */
  readonly reason: string;
  /**
   * Each base model: `loaded`, `loading`, `unloaded` or `failed`, with the reason. An unloaded model is
   * loaded at its next request.
   */
  readonly models: { readonly [name: string]: string };
};

export type History = {
  /** The conversation: messages, and Choices where the model answered. */
  readonly messages_and_choices: readonly MessageOrChoice[];
  /** The tools that the requests had. */
  readonly tools?: readonly { readonly [name: string]: any }[] | null;
  readonly [name: string]: any;
};

export type InputItem = {
  /**
   * `message`, `function_call`, `function_call_output`, `custom_tool_call`, `custom_tool_call_output` or
   * `reasoning`. Default: `"message"`.
   */
  readonly type?: string | null;
  /** Of a message: user, assistant, system or developer. */
  readonly role?: string | null;
  /** Of a message: its text, or parts of it; of a reasoning item, parts of what was thought. */
  readonly content?: string | readonly InputPart[] | null;
  /** Of a call and of its output: which belong together. */
  readonly call_id?: string | null;
  /** Of a call: the function's name. */
  readonly name?: string | null;
  /** Of a call: its arguments as JSON. */
  readonly arguments?: string | null;
  /** Of a custom tool's call: its text. */
  readonly input?: string | null;
  /** Of a call's output: what the function returned. */
  readonly output?: string | readonly InputPart[] | null;
  /** Of a reasoning item without content: what was thought. */
  readonly summary?: readonly { readonly [name: string]: any }[] | null;
  /** Accepted without use. */
  readonly id?: unknown;
  /** Accepted without use. */
  readonly status?: unknown;
  /** Accepted without use. */
  readonly phase?: unknown;
  /** Accepted without use. */
  readonly encrypted_content?: unknown;
  readonly [name: string]: any;
};

export type InputPart = {
  /** `input_text`, `output_text` or `refusal`. */
  readonly type: string;
  /** Of a text: the text. */
  readonly text?: unknown;
  /** Of a refusal: its text. */
  readonly refusal?: unknown;
  /** Accepted without use. */
  readonly annotations?: unknown;
  /** Accepted without use. */
  readonly logprobs?: unknown;
  readonly [name: string]: any;
};

export type JsonSchema = {
  /** For people; nothing depends on it. */
  readonly name: string;
  /** For people; nothing depends on it. */
  readonly description?: string | null;
  /** The JSON Schema. */
  readonly schema?: { readonly [name: string]: any } | null;
  /** Every schema is kept exactly, whatever this says. */
  readonly strict?: boolean | null;
  readonly [name: string]: any;
};

export type Key = {
  readonly id: string;
  /** What uses it. */
  readonly name: string | null;
  /** Whose models, jobs and feedback it reaches; an admin's reaches all. */
  readonly entity: string;
  /** A name for people; feedback has it as `vendor_user_id`. */
  readonly owner: string;
  readonly role: "member" | "admin";
  /** What it opens; null for all that its role may. */
  readonly scopes: readonly ("chat" | "train" | "feedback" | "read")[] | null;
  /** The one project that it reaches; null for all. */
  readonly project: string | null;
  /** Requests to models in any minute. */
  readonly requests_per_minute: number | null;
  /** Tokens of prompts and answers together, in any minute. */
  readonly tokens_per_minute: number | null;
  /** Requests to models that are being answered at once. */
  readonly concurrent_requests: number | null;
  /** Of the requests that may wait for a model on a server, in percent. */
  readonly queue_percent: number | null;
  /** Training jobs that wait. */
  readonly queued_jobs: number | null;
  readonly created_at: string;
  /** From then on it is refused. */
  readonly expires_at: string | null;
  /** When a request last came with it, to the minute; null where none did. */
  readonly last_used_at: string | null;
  /** How long the secret before the latest rotation holds, or held; null where there was none. */
  readonly former_secret_until: string | null;
  readonly revoked_at: string | null;
};

export type KeyChange = {
  /** What uses the key, for people. */
  readonly name?: string | null;
  /** From then on it is refused, and what runs for it ends. Null: never. */
  readonly expires_at?: string | null;
  /**
   * What it opens: `chat` has models answer, `train` is for models, jobs and what they train on, `feedback`
   * for feedback, annotation and traces, each with reading what it is about, and `read` reads everything and
   * changes nothing. Null: all that its role may.
   */
  readonly scopes?: readonly ("chat" | "train" | "feedback" | "read")[] | null;
  /** The one project of its entity that it reaches, beside base models. Null: all. Not for admins. */
  readonly project?: string | null;
  /** Requests to models in any minute. Null: no limit. */
  readonly requests_per_minute?: number | null;
  /** Tokens of prompts and answers together, in any minute. Null: no limit. */
  readonly tokens_per_minute?: number | null;
  /** Requests to models that are being answered at once. Null: no limit. */
  readonly concurrent_requests?: number | null;
  /** Of the requests that may wait for a model on a server, in percent. Null: no limit. */
  readonly queue_percent?: number | null;
  /** Training jobs that wait. Null: no limit. */
  readonly queued_jobs?: number | null;
};

export type KeyCreate = {
  /** What uses the key, for people. */
  readonly name?: string | null;
  /** From then on it is refused, and what runs for it ends. Null: never. */
  readonly expires_at?: string | null;
  /**
   * What it opens: `chat` has models answer, `train` is for models, jobs and what they train on, `feedback`
   * for feedback, annotation and traces, each with reading what it is about, and `read` reads everything and
   * changes nothing. Null: all that its role may.
   */
  readonly scopes?: readonly ("chat" | "train" | "feedback" | "read")[] | null;
  /** The one project of its entity that it reaches, beside base models. Null: all. Not for admins. */
  readonly project?: string | null;
  /** Requests to models in any minute. Null: no limit. */
  readonly requests_per_minute?: number | null;
  /** Tokens of prompts and answers together, in any minute. Null: no limit. */
  readonly tokens_per_minute?: number | null;
  /** Requests to models that are being answered at once. Null: no limit. */
  readonly concurrent_requests?: number | null;
  /** Of the requests that may wait for a model on a server, in percent. Null: no limit. */
  readonly queue_percent?: number | null;
  /** Training jobs that wait. Null: no limit. */
  readonly queued_jobs?: number | null;
  /**
   * Whose models, jobs and feedback it reaches; a new name is a new entity. Default: that of the key that
   * asks.
   */
  readonly entity?: string | null;
  /** A name for people; feedback has it as `vendor_user_id`. Default: the entity. */
  readonly owner?: string | null;
  /** An admin's key reaches every entity, and makes keys. Default: `"member"`. */
  readonly role?: "member" | "admin" | null;
};

export type KeyRotation = {
  /** How long the secret that it has now still holds; 0 ends it at once. Default: `86400`. */
  readonly grace_seconds?: number | null;
};

export type KvTransferParams = {
  /**
   * Holds the prompt for another server, which the answer's `kv_transfer_params` are for. Default: `false`.
   */
  readonly do_remote_decode?: boolean | null;
  /** Fetches the prompt from the server that holds it, which the other members name. Default: `false`. */
  readonly do_remote_prefill?: boolean | null;
  /** Of the server that holds it; one of those that the operator named. */
  readonly remote_host?: string | null;
  /** Of that server. */
  readonly remote_port?: number | null;
  /** Under which it is held. */
  readonly remote_request_id?: string | null;
  readonly [name: string]: any;
};

export type LeftOutAnswer = {
  /** The answer's, or what the feedback names where there is none. */
  readonly reference: string;
  readonly reason: string;
  readonly reward: number | null;
  readonly people: number;
  /** Records on it. */
  readonly feedback: number;
};

export type LogLine = {
  /**
   * `<start>-<number>`. Numbers rise by one with each line; another start of the server has another
   * beginning.
   */
  readonly id: string;
  /** When it was written. */
  readonly time: string;
  readonly level: "debug" | "info" | "warn" | "error";
  readonly message: string;
  /** Everything else that the line says, such as `requestId` or `jobId`. */
  readonly fields: { readonly [name: string]: unknown };
};

export type Logged = {
  readonly detail: readonly unknown[];
  readonly model_id: string;
  readonly split: string;
  /** The version that the log belongs to. */
  readonly step: number;
  readonly trajectories: number;
  readonly metrics: { readonly [name: string]: number };
};

export type LoggedMetrics = {
  readonly id: string;
  readonly split: string;
  readonly step: number;
  readonly recorded_at: string;
  readonly metrics: { readonly [name: string]: number };
};

export type LoggedTrajectories = {
  readonly id: string;
  readonly split: string;
  readonly step: number;
  readonly recorded_at: string;
  readonly metrics: { readonly [name: string]: number };
  readonly trajectory_groups: readonly TrajectoryGroup[];
  /**
   * Only where the log's trajectories do not fit in a page: how many bytes they have. They are read row by
   * row, or exported.
   */
  readonly left_out_bytes?: number;
};

export type LogitsProcessorConstructor = {
  /** The registered name. */
  readonly qualname: string;
  /** Its arguments by position. */
  readonly args?: readonly unknown[] | null;
  /** Its arguments by name. */
  readonly kwargs?: { readonly [name: string]: any } | null;
};

export type Message = {
  /** Such as developer, system, user, assistant, tool; the chat template decides which there are. */
  readonly role: string;
  /** A text, or parts whose texts are joined. */
  readonly content?: string | readonly (string | ContentPart)[] | null;
  /** Who says it, for templates that show names. */
  readonly name?: string | null;
  /** Of a tool's message: which call it answers. */
  readonly tool_call_id?: string | null;
  /** Of an assistant's message: the calls that it made, as answers have them. */
  readonly tool_calls?: readonly MessageToolCall[] | null;
  /** Of an assistant's message: what it thought. */
  readonly reasoning?: unknown;
  /** The same by its other name. */
  readonly reasoning_content?: unknown;
  /** Of a refusal: its text. */
  readonly refusal?: unknown;
  /** Accepted without use. */
  readonly annotations?: unknown;
  /** What was thought, for templates that read it here. */
  readonly thinking?: unknown;
  /** Tools that the message brings, for templates that read them here. */
  readonly tools?: unknown;
  /** Of an assistant's message: the exact tokens that it answered, as its choice had them. */
  readonly prompt_token_ids?: readonly number[] | null;
  /**
   * Of an assistant's message: its own exact tokens. With prompt_token_ids the prompt begins with both, where
   * they are the text that the template renders; else the text is tokenized as always.
   */
  readonly token_ids?: readonly number[] | null;
  readonly [name: string]: any;
};

export type MessageOrChoice = {
  /** Makes the item a message. */
  readonly role?: string;
  /** With finish_reason makes the item a Choice, as it was answered. */
  readonly message?: { readonly [name: string]: any } | null;
  /** Of a Choice: what the tokens were and how probable, as it was answered. */
  readonly logprobs?: {
    /** One entry for each token of the answer. */
    readonly content?: readonly {
      /** The token's text, or `token_id:<N>`. */
      readonly token: string;
      /** Natural logarithm. */
      readonly logprob?: number | null;
      readonly [name: string]: any;
    }[] | null;
    /** As in OpenAI's answers; not read. */
    readonly refusal?: readonly {
      /** The token's text, or `token_id:<N>`. */
      readonly token: string;
      /** Natural logarithm. */
      readonly logprob?: number | null;
      readonly [name: string]: any;
    }[] | null;
    readonly [name: string]: any;
  } | null;
  /** Of a Choice: the answer's exact tokens. */
  readonly token_ids?: readonly number[] | null;
  /** Of a Choice: the prompt's exact tokens. */
  readonly prompt_token_ids?: readonly number[] | null;
  /** As the request had them. */
  readonly documents?: readonly { readonly [name: string]: any }[] | null;
  /** As the request had it. */
  readonly chat_template?: string | null;
  /** As the request had them. */
  readonly chat_template_kwargs?: { readonly [name: string]: any } | null;
  /** As the request had it. */
  readonly reasoning_effort?: string | null;
  /** As the request had it. */
  readonly add_generation_prompt?: boolean | null;
  /** As the request had it. */
  readonly continue_final_message?: boolean | null;
  /** As the request had it. */
  readonly add_special_tokens?: boolean | null;
  /** As the request had it. */
  readonly truncate_prompt_tokens?: number | null;
  readonly [name: string]: any;
};

export type MessageToolCall = {
  /** What the result of the call names. */
  readonly id?: unknown;
  /** `function` or `custom`. */
  readonly type?: unknown;
  /** Accepted without use. */
  readonly index?: unknown;
  /** Of a function's call: its name and arguments. */
  readonly function?: CalledFunction | null;
  /** Of a custom tool's call: its name and text. */
  readonly custom?: CalledCustomTool | null;
  readonly [name: string]: any;
};

export type ModelCreate = {
  /** Whose it is. Default: the caller's own. */
  readonly entity?: string | null;
  /** Comes into being at first use. */
  readonly project: string;
  /** Unique in its project. */
  readonly name: string;
  /** The name of the base model that is trained. */
  readonly base_model: string;
  /** Rank of the model's adapters. Default: training.loraRank. */
  readonly lora_rank?: number | null;
  /** What its adapters are scaled by, divided by their rank. Default: twice the rank. */
  readonly lora_alpha?: number | null;
  /** The projections that its adapters are on, in every layer, by PEFT's names. Default: all seven. */
  readonly target_modules?: readonly ("q_proj" | "k_proj" | "v_proj" | "o_proj" | "gate_proj" | "up_proj" | "down_proj")[] | null;
  /**
   * A version of another model to start from: it is copied, with the state of its optimizer where that is
   * kept, and is version 1 of this one.
   */
  readonly from?: {
    /** Any name that a chat takes as its model, its id too; over the same base model. */
    readonly model: string;
    /** The version. Default: the one that the name says, or its newest. */
    readonly step?: number | null;
  } | null;
  /**
   * Answers with the model of this name where there is one, without copying anything; otherwise that is a
   * conflict. Default: `false`.
   */
  readonly return_existing?: boolean | null;
};

export type ModelObject = {
  readonly id: string;
  readonly entity: string;
  readonly project: string;
  readonly name: string;
  readonly base_model: string;
  /** Rank of its new adapters; null leaves that to the server. */
  readonly lora_rank: number | null;
  /** What they are scaled by, divided by their rank; null leaves that to the server. */
  readonly lora_alpha: number | null;
  /** The projections that they are on; null stands for all seven. */
  readonly target_modules: readonly ("q_proj" | "k_proj" | "v_proj" | "o_proj" | "gate_proj" | "up_proj" | "down_proj")[] | null;
  readonly run_id: null;
  readonly created_at: string;
};

export type NamedTool = {
  /** One of the tools' names. */
  readonly name: string;
  readonly [name: string]: any;
};

export type NamedToolChoice = {
  /** A tool that must be called, or those that may be. */
  readonly type: "function" | "custom" | "allowed_tools";
  /** The function that must be called. */
  readonly function?: NamedTool | null;
  /** The custom tool that must be called. */
  readonly custom?: NamedTool | null;
  /** The tools that may be called; all are shown to the model. */
  readonly allowed_tools?: AllowedTools | null;
  readonly [name: string]: any;
};

export type NewKey = {
  readonly id: string;
  /** What uses it. */
  readonly name: string | null;
  /** Whose models, jobs and feedback it reaches; an admin's reaches all. */
  readonly entity: string;
  /** A name for people; feedback has it as `vendor_user_id`. */
  readonly owner: string;
  readonly role: "member" | "admin";
  /** What it opens; null for all that its role may. */
  readonly scopes: readonly ("chat" | "train" | "feedback" | "read")[] | null;
  /** The one project that it reaches; null for all. */
  readonly project: string | null;
  /** Requests to models in any minute. */
  readonly requests_per_minute: number | null;
  /** Tokens of prompts and answers together, in any minute. */
  readonly tokens_per_minute: number | null;
  /** Requests to models that are being answered at once. */
  readonly concurrent_requests: number | null;
  /** Of the requests that may wait for a model on a server, in percent. */
  readonly queue_percent: number | null;
  /** Training jobs that wait. */
  readonly queued_jobs: number | null;
  readonly created_at: string;
  /** From then on it is refused. */
  readonly expires_at: string | null;
  /** When a request last came with it, to the minute; null where none did. */
  readonly last_used_at: string | null;
  /** How long the secret before the latest rotation holds, or held; null where there was none. */
  readonly former_secret_until: string | null;
  readonly revoked_at: string | null;
  /** The secret, which requests send; no other answer has it. */
  readonly key: string;
};

export type NewWebhook = {
  readonly id: string;
  readonly entity: string;
  readonly url: string;
  readonly events: readonly ("feedback.created" | "feedback.replaced" | "feedback.purged" | "training_ended" | "training_failed")[];
  readonly project_id: string | null;
  readonly feedback_type: string | null;
  readonly records_max: number;
  readonly description: string | null;
  readonly created_at: string;
  readonly enabled: boolean;
  readonly disabled_at: string | null;
  /** Why nothing is sent. */
  readonly disabled_reason: string | null;
  /** The first attempt that failed behind the last one that did not; null where that was the last. */
  readonly failing_since: string | null;
  /** Deliveries that are not over. */
  readonly pending: number;
  /** What requests are signed with; no other answer has it. */
  readonly secret: string;
};

export type OutputCustomToolCall = {
  readonly type: "custom_tool_call";
  readonly id: string;
  /** What the call's output names. */
  readonly call_id: string;
  readonly name: string;
  /** The text that the tool takes. */
  readonly input: string;
  readonly status: "in_progress" | "completed" | "incomplete";
};

export type OutputFunctionCall = {
  readonly type: "function_call";
  readonly id: string;
  /** What the call's output names. */
  readonly call_id: string;
  readonly name: string;
  /** JSON. */
  readonly arguments: string;
  readonly status: "in_progress" | "completed" | "incomplete";
};

export type OutputMessage = {
  readonly type: "message";
  readonly id: string;
  readonly role: "assistant";
  readonly content: readonly {
    readonly type: "output_text";
    readonly text: string;
    readonly annotations: readonly unknown[];
    /** One entry for each token of the text, where they were asked for. */
    readonly logprobs: readonly {
      readonly token: string;
      readonly logprob: number;
      readonly bytes: readonly number[];
      readonly top_logprobs: readonly {
        readonly token: string;
        readonly logprob: number;
        readonly bytes: readonly number[];
      }[];
    }[];
  }[];
  readonly status: "in_progress" | "completed" | "incomplete";
};

export type OutputReasoning = {
  readonly type: "reasoning";
  readonly id: string;
  readonly summary: readonly unknown[];
  /** What the model thought. */
  readonly content: readonly {
    readonly type: "reasoning_text";
    readonly text: string;
  }[];
  readonly status: "in_progress" | "completed" | "incomplete";
};

export type OwnKey = {
  /** Of the key; `none` where the server asks for none. */
  readonly id: string;
  /** Whose it is; feedback has it as `vendor_user_id`. */
  readonly owner: string;
  /** Whose models and jobs it reaches; an admin reaches all. */
  readonly entity: string;
  readonly role: "member" | "admin";
  /** What it opens; null for all that its role may. */
  readonly scopes: readonly ("chat" | "train" | "feedback" | "read")[] | null;
  /** The one project that it reaches; null for all. */
  readonly project: string | null;
};

export type Preference = {
  /**
   * What is answered: messages, or the text of a user's. Without it the messages that both answers begin
   * with, where they are lists.
   */
  readonly prompt?: string | readonly ExampleMessage[] | null;
  /** The same as prompt, by another name. */
  readonly messages?: readonly ExampleMessage[] | null;
  /**
   * The answer that people preferred: its text, a message, the messages behind the prompt, or a Choice as it
   * was answered, which trains by its tokens.
   */
  readonly chosen?: string | ExampleMessageOrChoice | readonly ExampleMessage[] | null;
  /** The answer that they did not. */
  readonly rejected?: string | ExampleMessageOrChoice | readonly ExampleMessage[] | null;
  /** With the loss kto: an answer that is judged by itself. */
  readonly completion?: string | ExampleMessageOrChoice | readonly ExampleMessage[] | null;
  /** Whether people wanted `completion`. */
  readonly label?: boolean | null;
  /** The prompt as OpenAI's files have it. */
  readonly input?: PreferenceInput | null;
  /** The same as chosen, as OpenAI's files have it. */
  readonly preferred_output?: string | ExampleMessageOrChoice | readonly ExampleMessage[] | null;
  /** The same as rejected, as OpenAI's files have it. */
  readonly non_preferred_output?: string | ExampleMessageOrChoice | readonly ExampleMessage[] | null;
  /** The tools that the request has. */
  readonly tools?: readonly { readonly [name: string]: any }[] | null;
  /** As the request had them. */
  readonly documents?: readonly { readonly [name: string]: any }[] | null;
  /** As the request had it. */
  readonly chat_template?: string | null;
  /** As the request had them. */
  readonly chat_template_kwargs?: { readonly [name: string]: any } | null;
  /** As the request had it. */
  readonly reasoning_effort?: string | null;
  /** As the request had it. */
  readonly add_generation_prompt?: boolean | null;
  /** As the request had it. */
  readonly continue_final_message?: boolean | null;
  /** As the request had it. */
  readonly add_special_tokens?: boolean | null;
  /** As the request had it. */
  readonly truncate_prompt_tokens?: number | null;
  readonly [name: string]: any;
};

export type PreferenceConfig = {
  /**
   * How answers are compared: dpo, ipo and simpo take two answers to a prompt; kto judges each by itself, and
   * takes pairs as two of them. Default: `"dpo"`.
   */
  readonly loss?: "dpo" | "ipo" | "simpo" | "kto" | null;
  /**
   * How much log ratios count; the greater, the nearer the model stays to the reference. Default: 0.1; 2 with
   * simpo.
   */
  readonly beta?: number | null;
  /** How often a preference is taken to be the wrong way round (cDPO); with dpo and simpo. Default: `0`. */
  readonly label_smoothing?: number | null;
  /**
   * By how much the reward of a chosen answer is to exceed the other's; with simpo. Default: 0.5 with simpo.
   */
  readonly gamma?: number | null;
  /**
   * Whether the mean over an answer's tokens counts, and not their sum; with dpo, ipo and simpo. Default:
   * true with ipo and simpo.
   */
  readonly length_normalized?: boolean | null;
  /** What answers that people wanted count for; with kto. Default: `1`. */
  readonly desirable_weight?: number | null;
  /** What answers that they did not want count for; with kto. Default: `1`. */
  readonly undesirable_weight?: number | null;
  /**
   * Whose log-probabilities answers are compared with: those of the version that the job starts from, or of
   * the base model. simpo compares with none. Default: start.
   */
  readonly reference?: "start" | "base" | null;
  /**
   * Of the products with the base model's weights: int8 takes a step faster over rounded weights, and the job
   * tells how far its log-probabilities are from those over float32. Default: float32.
   */
  readonly base_precision?: "float32" | "int8" | null;
  /** Pairs of one step, with kto answers; auto is 8. Default: `8`. */
  readonly batch_size?: number | "auto" | null;
  /** Of AdamW, of every step. Default: `0.00005`. */
  readonly learning_rate?: number | null;
  /** How often each of them trains. Default: `1`. */
  readonly epochs?: number | null;
  /** The same as epochs, by another name. Default: `1`. */
  readonly num_epochs?: number | null;
  /** Of AdamW, times the learning rate. Default: `0`. */
  readonly weight_decay?: number | null;
  /** Gradients are scaled down to this norm; 0 never scales. Default: `1`. */
  readonly max_grad_norm?: number | null;
  /** Whether they are shuffled, anew for each epoch; the same job shuffles alike. Default: `true`. */
  readonly shuffle?: boolean | null;
  /**
   * Refused with a value that asks for more than is done. The optimizer is AdamW with betas of 0.9 and 0.99.
   */
  readonly adam_beta1?: unknown;
  /**
   * Refused with a value that asks for more than is done. The optimizer is AdamW with betas of 0.9 and 0.99.
   */
  readonly adam_beta2?: unknown;
  /** Refused with a value that asks for more than is done. The optimizer is AdamW with an epsilon of 1e-8. */
  readonly adam_epsilon?: unknown;
  /**
   * Refused. The optimizer is AdamW with betas of 0.9 and 0.99. Its weight_decay and max_grad_norm are
   * options of their own.
   */
  readonly adam_params?: unknown;
  /** Accepted. Every job makes a version. */
  readonly final_training_step?: unknown;
  /** Refused with a value that asks for more than is done. Say batch_size, the sequences of a step. */
  readonly gradient_accumulation_steps?: unknown;
  /**
   * Refused. The shape of adapters is the model's: say lora_rank, lora_alpha and target_modules when it is
   * registered, before its first job.
   */
  readonly lora_alpha?: unknown;
  /**
   * Refused. The shape of adapters is the model's: say lora_rank, lora_alpha and target_modules when it is
   * registered, before its first job.
   */
  readonly lora_config?: unknown;
  /** Refused with a value that asks for more than is done. Adapters train without dropout. */
  readonly lora_dropout?: unknown;
  /**
   * Refused. The shape of adapters is the model's: say lora_rank, lora_alpha and target_modules when it is
   * registered, before its first job.
   */
  readonly lora_rank?: unknown;
  /**
   * Refused with a value that asks for more than is done. The learning rate stays as it is within a job; send
   * jobs with rates of their own.
   */
  readonly lr_scheduler?: unknown;
  /**
   * Refused with a value that asks for more than is done. The learning rate stays as it is within a job; send
   * jobs with rates of their own.
   */
  readonly lr_scheduler_type?: unknown;
  /** Refused with a value that asks for more than is done. Say steps and passes, or batch_size. */
  readonly max_steps?: unknown;
  /**
   * Refused with a value that asks for more than is done. The optimizer is AdamW with betas of 0.9 and 0.99.
   */
  readonly optim?: unknown;
  /** Accepted. The optimizer's state is kept with every version. */
  readonly optimizer_save_interval?: unknown;
  /**
   * Refused. The shape of adapters is the model's: say lora_rank, lora_alpha and target_modules when it is
   * registered, before its first job.
   */
  readonly peft_args?: unknown;
  /** Refused with a value that asks for more than is done. Every job makes a version. */
  readonly save_checkpoint?: unknown;
  /** Refused. What is random in a job is decided by its content: the same job trains the same. */
  readonly seed?: unknown;
  /** Refused. A job starts from the model's newest version. */
  readonly start_step?: unknown;
  /**
   * Refused. The shape of adapters is the model's: say lora_rank, lora_alpha and target_modules when it is
   * registered, before its first job.
   */
  readonly target_modules?: unknown;
  /**
   * Refused with a value that asks for more than is done. The learning rate stays as it is within a job; send
   * jobs with rates of their own.
   */
  readonly warmup_ratio?: unknown;
  /**
   * Refused with a value that asks for more than is done. The learning rate stays as it is within a job; send
   * jobs with rates of their own.
   */
  readonly warmup_steps?: unknown;
  /**
   * Refused with a value that asks for more than is done. The losses have no term of likelihood beside the
   * comparison.
   */
  readonly cpo_alpha?: unknown;
  /** Accepted. Nothing is dropped out. */
  readonly disable_dropout?: unknown;
  /** Refused with a value that asks for more than is done. Log ratios are compared. */
  readonly f_divergence_type?: unknown;
  /** Refused. Say loss: TRL's sigmoid is dpo. */
  readonly loss_type?: unknown;
  /** Refused. Nothing is cut; what is too long is left out. */
  readonly max_completion_length?: unknown;
  /** Refused. Nothing is cut; what is too long is left out (training.sequenceLengthMax). */
  readonly max_length?: unknown;
  /** Refused. Nothing is cut; what is too long is left out. */
  readonly max_prompt_length?: unknown;
  /** Accepted. They are computed once, before the first step. */
  readonly precompute_ref_log_probs?: unknown;
  /**
   * Refused with a value that asks for more than is done. Say loss simpo, which compares with no reference.
   */
  readonly reference_free?: unknown;
  /** Refused. The losses have no term of likelihood beside the comparison. */
  readonly rpo_alpha?: unknown;
  /** Refused. Say gamma. */
  readonly simpo_gamma?: unknown;
  /** Refused with a value that asks for more than is done. The reference does not move within a job. */
  readonly sync_ref_model?: unknown;
};

export type PreferenceConfigInEffect = {
  readonly loss: "dpo" | "ipo" | "simpo" | "kto";
  readonly beta: number;
  readonly label_smoothing: number;
  readonly gamma: number;
  readonly length_normalized: boolean;
  readonly desirable_weight: number;
  readonly undesirable_weight: number;
  readonly reference: "start" | "base" | null;
  readonly base_precision?: "float32" | "int8" | null;
  readonly batch_size: number;
  readonly learning_rate: number;
  readonly epochs: number;
  readonly shuffle: boolean;
  readonly weight_decay: number;
  readonly max_grad_norm: number;
};

export type PreferenceInput = {
  /** What is answered. */
  readonly messages: readonly ExampleMessage[];
  /** The tools that the request has. */
  readonly tools?: readonly { readonly [name: string]: any }[] | null;
  readonly [name: string]: any;
};

export type PreferenceJobCreate = {
  /** The model to train; best sent first. */
  readonly model_id: string;
  /**
   * What it is trained on: prompts with a chosen and a rejected answer, with the loss kto also single
   * answers.
   */
  readonly pairs?: readonly Preference[] | null;
  /**
   * In place of pairs a file of this server with one a line: its id, `hone-file://<id>`, or its address here.
   */
  readonly file_id?: string | null;
  /** How it is trained. */
  readonly config?: PreferenceConfig | null;
};

export type QuestionAgreement = {
  /** Its name. */
  readonly question: string;
  /** Of the answers to it. */
  readonly feedback_type: string;
  /** Items that at least two have answered. */
  readonly items: number;
  /** Who has answered one of those. */
  readonly annotators: number;
  /** Of the pairs of answers to an item those that are equal, averaged over items. */
  readonly percent_agreement: number | null;
  /** 1 where all agree, 0 where they agree as often as by chance. */
  readonly kappa: number | null;
  /** Cohen's kappa where two have answered in all, Fleiss' where more have. */
  readonly statistic: "cohen" | "fleiss" | null;
  /** Why there is no kappa, where there is none. */
  readonly reason: string | null;
};

export type Reasoning = {
  /**
   * How much the model is to think: the chat template sees it as reasoning_effort, and as enable_thinking,
   * which only `none` makes false. Default: the template's own.
   */
  readonly effort?: "none" | "minimal" | "low" | "medium" | "high" | "xhigh" | "max" | null;
  /** Accepted without use: what was thought is answered in full. */
  readonly summary?: "auto" | "concise" | "detailed" | null;
  /** The same by its older name. */
  readonly generate_summary?: "auto" | "concise" | "detailed" | null;
};

export type RecordedCompletion = {
  /** Of the answer: `chatcmpl-` and the request's id. */
  readonly id: string;
  readonly request_id: string;
  /** As what feedback names it. */
  readonly reference: string;
  /** `<entity>/<project>`. */
  readonly project_id: string;
  readonly model_id: string;
  /** The version that answered. */
  readonly step: number;
  /** The name that was asked for. */
  readonly model: string;
  /** Names base, version and engine build. */
  readonly system_fingerprint: string;
  /** Of the key that asked. */
  readonly owner: string;
  readonly started_at: string;
  readonly ended_at: string;
  readonly usage: {
    /** Tokens of the prompt, once whatever n is. */
    readonly prompt_tokens: number;
    /** Tokens of all choices. */
    readonly completion_tokens: number;
    /** Both together. */
    readonly total_tokens: number;
    readonly prompt_tokens_details: {
      /** Tokens of the prompt, from its first on, that an earlier request had computed. */
      readonly cached_tokens: number;
    };
  };
  /** Equal for prompts of the same tokens. */
  readonly prompt_hash: string;
  /** Of each choice. */
  readonly finish_reasons: readonly string[];
  readonly has_logprobs: boolean;
  /** False of one that was too large: neither messages nor tokens are recorded of it. */
  readonly is_whole: boolean;
  /** Of what is stored of it alone, without what it shares with others. */
  readonly byte_count: number;
  /** How the last message of a user begins, or the prompt's text. */
  readonly prompt: string;
  /** How the first choice begins. */
  readonly answer: string;
  /** Of the request. */
  readonly metadata: { readonly [name: string]: string };
  /** As they were sent; null of a text completion, and where it is not whole. */
  readonly messages: readonly { readonly [name: string]: unknown }[] | null;
  readonly tools: readonly { readonly [name: string]: unknown }[] | null;
  /** As the request had them. */
  readonly documents?: readonly { readonly [name: string]: unknown }[] | null;
  /** As the request had it. */
  readonly chat_template?: string | null;
  /** As the request had them. */
  readonly chat_template_kwargs?: { readonly [name: string]: unknown } | null;
  /** As the request had it. */
  readonly reasoning_effort?: string | null;
  /** As the request had it. */
  readonly add_generation_prompt?: boolean | null;
  /** As the request had it. */
  readonly continue_final_message?: boolean | null;
  /** As the request had it. */
  readonly add_special_tokens?: boolean | null;
  /** As the request had it. */
  readonly truncate_prompt_tokens?: number | null;
  /** Of a text completion whose prompt was a text. */
  readonly prompt_text: string | null;
  /** The prompt's exact tokens. */
  readonly prompt_token_ids: readonly number[] | null;
  /** How it was drawn, every default resolved. */
  readonly sampling: RecordedSampling | null;
  /** As they were answered; empty where it is not whole. */
  readonly choices: readonly Choice[];
  /** What there is on it or on one of its choices, the oldest first; at most a thousand. */
  readonly feedback: readonly CallFeedback[];
};

export type RecordedCompletionFilter = {
  /** Of one model. */
  readonly model_id?: string | null;
  /** Only of this version. */
  readonly step?: number | null;
  /** Ended then or later. */
  readonly ended_from?: string | null;
  /** Ended before. */
  readonly ended_before?: string | null;
};

export type RecordedDeletion = {
  readonly id: string;
  readonly object: "chat.completion.deleted";
  readonly deleted: boolean;
};

export type RecordedOutline = {
  /** Of the answer: `chatcmpl-` and the request's id. */
  readonly id: string;
  readonly request_id: string;
  /** As what feedback names it. */
  readonly reference: string;
  /** `<entity>/<project>`. */
  readonly project_id: string;
  readonly model_id: string;
  /** The version that answered. */
  readonly step: number;
  /** The name that was asked for. */
  readonly model: string;
  /** Names base, version and engine build. */
  readonly system_fingerprint: string;
  /** Of the key that asked. */
  readonly owner: string;
  readonly started_at: string;
  readonly ended_at: string;
  readonly usage: {
    /** Tokens of the prompt, once whatever n is. */
    readonly prompt_tokens: number;
    /** Tokens of all choices. */
    readonly completion_tokens: number;
    /** Both together. */
    readonly total_tokens: number;
    readonly prompt_tokens_details: {
      /** Tokens of the prompt, from its first on, that an earlier request had computed. */
      readonly cached_tokens: number;
    };
  };
  /** Equal for prompts of the same tokens. */
  readonly prompt_hash: string;
  /** Of each choice. */
  readonly finish_reasons: readonly string[];
  readonly has_logprobs: boolean;
  /** False of one that was too large: neither messages nor tokens are recorded of it. */
  readonly is_whole: boolean;
  /** Of what is stored of it alone, without what it shares with others. */
  readonly byte_count: number;
  /** How the last message of a user begins, or the prompt's text. */
  readonly prompt: string;
  /** How the first choice begins. */
  readonly answer: string;
  /** Of the request. */
  readonly metadata: { readonly [name: string]: string };
};

export type RecordedSampling = {
  readonly temperature: number;
  readonly top_p: number;
  readonly top_k: number;
  readonly min_p: number;
  readonly top_n_sigma: number;
  readonly repetition_penalty: number;
  readonly frequency_penalty: number;
  readonly presence_penalty: number;
  /** The request's, or the one that was drawn for it. */
  readonly seed: number;
  readonly max_tokens: number;
  readonly min_tokens: number;
  readonly stop: readonly string[];
  readonly use_beam_search: boolean;
  /** Whether a constraint, a bias, forbidden words or a processor held what could come. */
  readonly is_held: boolean;
};

export type Removed = {
  /**
   * `trajectories` that were logged, what `jobs` that have ended trained on with their events, `recordings`
   * of completions, and `revisions` of feedback.
   */
  readonly kind: "trajectories" | "jobs" | "recordings" | "revisions";
  readonly entity: string;
  /** Logs, jobs, completions or revisions. */
  readonly count: number;
  /** Of what was theirs alone. */
  readonly bytes: number;
};

export type RemovedOfDay = {
  /** `YYYY-MM-DD` in UTC. */
  readonly day: string;
  /**
   * `trajectories` that were logged, what `jobs` that have ended trained on with their events, `recordings`
   * of completions, and `revisions` of feedback.
   */
  readonly kind: "trajectories" | "jobs" | "recordings" | "revisions";
  readonly entity: string;
  /** Logs, jobs, completions or revisions. */
  readonly count: number;
  /** Of what was theirs alone. */
  readonly bytes: number;
  /** When the last of it was removed. */
  readonly last_at: string;
};

export type Replay = {
  /** Whether it is the version byte for byte. */
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
    /** How many differ; null where they cannot be compared. */
    readonly values: number | null;
    /** The greatest difference of two values. */
    readonly greatest: number | null;
  }[];
};

export type ResponseEvent = {
  readonly type: "response.created" | "response.in_progress" | "response.completed" | "response.incomplete" | "response.failed";
  readonly sequence_number: number;
  /** What begins at `instructions` repeats the request. */
  readonly response: ResponseObject;
} | {
  readonly type: "response.output_item.added" | "response.output_item.done";
  readonly sequence_number: number;
  readonly output_index: number;
  readonly item: OutputMessage | OutputFunctionCall | OutputCustomToolCall | OutputReasoning;
} | {
  readonly type: "response.content_part.added" | "response.content_part.done";
  readonly sequence_number: number;
  readonly item_id: string;
  readonly output_index: number;
  readonly content_index: number;
  readonly part: {
    readonly type: "output_text";
    readonly text: string;
    readonly annotations: readonly unknown[];
    /** One entry for each token of the text, where they were asked for. */
    readonly logprobs: readonly {
      readonly token: string;
      readonly logprob: number;
      readonly bytes: readonly number[];
      readonly top_logprobs: readonly {
        readonly token: string;
        readonly logprob: number;
        readonly bytes: readonly number[];
      }[];
    }[];
  } | {
    readonly type: "reasoning_text";
    readonly text: string;
  };
} | {
  readonly type: "response.output_text.delta";
  readonly sequence_number: number;
  readonly item_id: string;
  readonly output_index: number;
  readonly content_index: number;
  readonly delta: string;
  /** One entry for each token of the text, where they were asked for. */
  readonly logprobs: readonly {
    readonly token: string;
    readonly logprob: number;
    readonly bytes: readonly number[];
    readonly top_logprobs: readonly {
      readonly token: string;
      readonly logprob: number;
      readonly bytes: readonly number[];
    }[];
  }[];
} | {
  readonly type: "response.output_text.done";
  readonly sequence_number: number;
  readonly item_id: string;
  readonly output_index: number;
  readonly content_index: number;
  readonly text: string;
  /** One entry for each token of the text, where they were asked for. */
  readonly logprobs: readonly {
    readonly token: string;
    readonly logprob: number;
    readonly bytes: readonly number[];
    readonly top_logprobs: readonly {
      readonly token: string;
      readonly logprob: number;
      readonly bytes: readonly number[];
    }[];
  }[];
} | {
  readonly type: "response.reasoning_text.delta";
  readonly sequence_number: number;
  readonly item_id: string;
  readonly output_index: number;
  readonly content_index: number;
  readonly delta: string;
} | {
  readonly type: "response.reasoning_text.done";
  readonly sequence_number: number;
  readonly item_id: string;
  readonly output_index: number;
  readonly content_index: number;
  readonly text: string;
} | {
  readonly type: "response.function_call_arguments.delta";
  readonly sequence_number: number;
  readonly item_id: string;
  readonly output_index: number;
  readonly delta: string;
} | {
  readonly type: "response.function_call_arguments.done";
  readonly sequence_number: number;
  readonly item_id: string;
  readonly output_index: number;
  readonly name: string;
  readonly arguments: string;
} | {
  readonly type: "response.custom_tool_call_input.delta";
  readonly sequence_number: number;
  readonly item_id: string;
  readonly output_index: number;
  readonly delta: string;
} | {
  readonly type: "response.custom_tool_call_input.done";
  readonly sequence_number: number;
  readonly item_id: string;
  readonly output_index: number;
  readonly input: string;
} | {
  readonly type: "error";
  readonly sequence_number: number;
  readonly code: string;
  readonly message: string;
  readonly param: string | null;
  readonly error: { readonly [name: string]: unknown };
  readonly detail: readonly { readonly [name: string]: unknown }[];
};

export type ResponseFormat = {
  /** What the answer is held to. `json` and `regex` are TGI's names, `grammar` is Fireworks' one. */
  readonly type: "text" | "json_object" | "json_schema" | "structural_tag" | "json" | "regex" | "grammar";
  /** With `json_schema` or `json_object`: the schema that the answer is held to. */
  readonly json_schema?: JsonSchema | null;
  /** With `json_object` or `json_schema`: the schema itself, as llama.cpp has it. */
  readonly schema?: { readonly [name: string]: any } | null;
  /** With `json` or `json_object` the schema, with `regex` the pattern, as TGI has it. */
  readonly value?: unknown;
  /** With `grammar`: a grammar in GBNF or in Lark's notation. */
  readonly grammar?: string | null;
  /** With `structural_tag`: what the answer is made of. */
  readonly format?: unknown;
  /** With `structural_tag`, in its older form: the tagged parts. */
  readonly structures?: unknown;
  /** With `structural_tag`, in its older form: what begins a tagged part. */
  readonly triggers?: unknown;
  readonly [name: string]: any;
};

/** What begins at `instructions` repeats the request. */
export type ResponseObject = {
  /** `resp_` and the request's id. */
  readonly id: string;
  readonly object: "response";
  /** Seconds since 1970. */
  readonly created_at: number;
  readonly status: "in_progress" | "completed" | "incomplete" | "failed";
  readonly error: {
    readonly code: "server_error";
    readonly message: string;
  } | null;
  readonly incomplete_details: {
    readonly reason: "max_output_tokens";
  } | null;
  /** The name asked for, or the default model's. */
  readonly model: string;
  /** What the model thought, said and called, in order. */
  readonly output: readonly (OutputMessage | OutputFunctionCall | OutputCustomToolCall | OutputReasoning)[];
  /** Null until the end. */
  readonly usage: {
    readonly input_tokens: number;
    readonly input_tokens_details: {
      readonly cached_tokens: number;
    };
    readonly output_tokens: number;
    readonly output_tokens_details: {
      /** Up to the last one that was thought. */
      readonly reasoning_tokens: number;
    };
    readonly total_tokens: number;
  } | null;
  readonly background: boolean;
  readonly previous_response_id: null;
  readonly service_tier: "default";
  readonly store: boolean;
  readonly instructions: string | null;
  readonly max_output_tokens: number | null;
  readonly metadata: { readonly [name: string]: string };
  readonly parallel_tool_calls: boolean;
  readonly reasoning: {
    readonly effort: string | null;
    readonly summary: string | null;
  };
  readonly temperature: number | null;
  readonly text: {
    readonly format: { readonly [name: string]: unknown };
    readonly verbosity: "low" | "medium" | "high";
  };
  readonly tool_choice: string | { readonly [name: string]: unknown };
  readonly tools: readonly { readonly [name: string]: unknown }[];
  readonly top_logprobs: number;
  readonly top_p: number | null;
  readonly truncation: "auto" | "disabled";
  readonly user: string | null;
};

export type ResponseRequest = {
  /** A user's text, or the conversation so far as items, oldest first. */
  readonly input: string | readonly InputItem[];
  /** A system message before the input. Default: none. */
  readonly instructions?: string | null;
  /**
   * Documents that the chat template shows to the model, if it does; all their values are texts. Default:
   * none.
   */
  readonly documents?: readonly { readonly [name: string]: string }[] | null;
  /**
   * A Jinja template instead of the model's own, rendered within limits of size and time; needed where the
   * model has none. Default: the model's own.
   */
  readonly chat_template?: string | null;
  /**
   * Further variables for the chat template. They hide its own, but neither the messages nor what a field of
   * the request says. Default: `{}`.
   */
  readonly chat_template_kwargs?: { readonly [name: string]: any } | null;
  /** Adds the tokenizer's special tokens to those of the template. Default: `false`. */
  readonly add_special_tokens?: boolean;
  /** Whether an answer may call more than one tool. Default: `true`. */
  readonly parallel_tool_calls?: boolean | null;
  /** Whether what the model thought is returned, as `reasoning`; its tokens count anyway. Default: `true`. */
  readonly include_reasoning?: boolean;
  /**
   * A base model, or a trained one by id, name, project/name or entity/project/name, each with :stepN or
   * :latest where wanted. Default: the server's default model.
   */
  readonly model?: string | null;
  /** The id of the answer, after `chatcmpl-`; one that is running is refused. Default: a fresh one. */
  readonly request_id?: string;
  /** Whom the request is for, in the client's words; accepted without use. Default: nobody. */
  readonly user?: string | null;
  /**
   * Lower is answered earlier, and takes room from what is higher; anything but 0 is refused unless the model
   * is scheduled by priority. Default: `0`.
   */
  readonly priority?: number;
  /**
   * Keeps what is computed of the prompt from requests of the same entity with another salt or none, which
   * could else find out by the time to the first token, or by `cached_tokens`, that somebody sent the same.
   * Other entities never share it. Default: none.
   */
  readonly cache_salt?: string | null;
  /**
   * Keeps the last so many tokens of the prompt; -1 as many as fit beside max_completion_tokens. Default: a
   * prompt that does not fit is refused.
   */
  readonly truncate_prompt_tokens?: number | null;
  /**
   * Fewest tokens of an answer: what would end it is not drawn before, unless nothing else may come, as where
   * it is complete under its constraint. Default: `0`.
   */
  readonly min_tokens?: number;
  /**
   * One text or several that end the answer, and are not part of it; the one that is completed first wins.
   * Default: `[]`.
   */
  readonly stop?: string | readonly string[] | null;
  /** Token ids that end the answer, beside the model's own; `stop_reason` says which. Default: `[]`. */
  readonly stop_token_ids?: readonly number[] | null;
  /** The model's own end does not end the answer; stop_token_ids still do. Default: `false`. */
  readonly ignore_eos?: boolean;
  /**
   * Shows the text that ended the answer: the stop string, or that of the stop token unless it is special and
   * these are skipped. Default: `false`.
   */
  readonly include_stop_str_in_output?: boolean;
  /** Leaves special tokens out of the text. Default: `true`. */
  readonly skip_special_tokens?: boolean;
  /**
   * Divides the logits; 0 is greedy, and what is between 0 and 0.01 counts as 0.01. Default: the model's own,
   * else 1.
   */
  readonly temperature?: number | null;
  /**
   * Draws among the fewest most probable tokens that have this much together. Default: the model's own, else
   * 1.
   */
  readonly top_p?: number | null;
  /** Draws among so many most probable tokens; 0 and -1 among all. Default: the model's own, else 0. */
  readonly top_k?: number | null;
  /**
   * Leaves out tokens less probable than this part of the most probable one. Default: the model's own, else
   * 0.
   */
  readonly min_p?: number | null;
  /**
   * Leaves out tokens whose logit is more than so many standard deviations of the logits below the greatest,
   * whatever the temperature, before min_p, top_k and top_p; 0 and less leave out none. Default: `0`.
   */
  readonly top_n_sigma?: number | null;
  /**
   * Divides the positive logits of tokens that prompt or answer have, and multiplies their negative ones.
   * Default: the model's own, else 1.
   */
  readonly repetition_penalty?: number | null;
  /** Subtracted from a token's logit for each time the answer has it. Default: `0`. */
  readonly frequency_penalty?: number | null;
  /** Subtracted from the logit of each token that the answer has. Default: `0`. */
  readonly presence_penalty?: number | null;
  /** Added to the logits of these token ids, greedy or not. Default: none. */
  readonly logit_bias?: { readonly [name: string]: number } | null;
  /** Only these token ids may be drawn; the model's end is not among them by itself. Default: all. */
  readonly allowed_token_ids?: readonly number[] | null;
  /**
   * Texts that the answer must not hold, as the model's tokens spell them at its beginning, and after a blank
   * where that takes as many tokens; other spellings get through. Default: `[]`.
   */
  readonly bad_words?: readonly string[];
  /**
   * Steps on the logits that the server has by name, with their arguments; in this order, after the logit
   * bias and before penalties. Default: none.
   */
  readonly logits_processors?: readonly (string | LogitsProcessorConstructor)[] | null;
  /**
   * Most tokens of a thought: the logits processor `thinking-budget` with this budget, for models whose
   * vocabulary has `<think>` and `</think>`. Default: none.
   */
  readonly thinking_token_budget?: number | null;
  /** Further arguments, which every logits processor of the request is given. Default: `{}`. */
  readonly vendor_xargs?: { readonly [name: string]: string | number | readonly (string | number)[] } | null;
  /** The same as vendor_xargs, by another name. Default: `{}`. */
  readonly vllm_xargs?: { readonly [name: string]: string | number | readonly (string | number)[] } | null;
  /**
   * Makes the answer reproducible, whatever else is being answered, where the model is `exact` in
   * `/v1/models`; of others the header `x-hone-notice` says that it does not. Default: a fresh one.
   */
  readonly seed?: number | null;
  /**
   * The one constraint that the answer must keep, which response_format may hold instead, and how JSON is
   * written. Default: none.
   */
  readonly structured_outputs?: StructuredOutputs | null;
  /** The same as structured_outputs.json, by the older name that vLLM had. Default: none. */
  readonly guided_json?: string | { readonly [name: string]: any } | null;
  /** The same as structured_outputs.regex, by the older name that vLLM had. Default: none. */
  readonly guided_regex?: string | null;
  /** The same as structured_outputs.choice, by the older name that vLLM had. Default: none. */
  readonly guided_choice?: readonly string[] | null;
  /** The same as structured_outputs.grammar, by the older name that vLLM had. Default: none. */
  readonly guided_grammar?: string | null;
  /** The same as structured_outputs.grammar, as llama.cpp has it. Default: none. */
  readonly grammar?: string | null;
  /** The same as structured_outputs.json, as llama.cpp has it. Default: none. */
  readonly json_schema?: string | { readonly [name: string]: any } | null;
  /** As Ollama has it: `json` holds the answer to any JSON object, a schema to JSON of it. Default: none. */
  readonly format?: "json" | { readonly [name: string]: any } | null;
  /** The same as structured_outputs.whitespace_pattern, by the older name that vLLM had. Default: none. */
  readonly guided_whitespace_pattern?: string | null;
  /** The same as structured_outputs._backend, by the older name that vLLM had. Default: auto. */
  readonly guided_decoding_backend?: string | null;
  /**
   * Whether the response can be asked for later; it cannot: true is answered as false, and the header
   * `x-hone-notice` says so. False also keeps it from being recorded. Default: `false`.
   */
  readonly store?: boolean | null;
  /** Most tokens of the answer; cut to the room that is left. Default: the model's own, else all the room. */
  readonly max_output_tokens?: number | null;
  /**
   * Functions and custom tools that the chat template shows to the model; the header `x-hone-notice` names
   * those that are left out. Default: none.
   */
  readonly tools?: readonly ResponseTool[] | null;
  /**
   * Whether the answer may call tools (auto), must (required, or a tool by name) or must not (none), and
   * which (allowed_tools). Default: as in a chat request.
   */
  readonly tool_choice?: "none" | "auto" | "required" | ToolChoiceObject | null;
  /** What the answer's text is held to. Default: free text. */
  readonly text?: TextConfig | null;
  /** How much the model is to think. Default: the template's own. */
  readonly reasoning?: Reasoning | null;
  /** Returns each token's log-probability, with so many alternatives. Default: `0`. */
  readonly top_logprobs?: number | null;
  /**
   * What the answer shows beside its text: `message.output_text.logprobs` has log-probabilities, all others
   * ask for what there never is; the header `x-hone-notice` names those that are not known. Default: `[]`.
   */
  readonly include?: readonly string[] | null;
  /** Answers as server-sent events. Default: `false`. */
  readonly stream?: boolean | null;
  /** Accepted without use. Default: `{}`. */
  readonly stream_options?: { readonly [name: string]: any } | null;
  /** Comes back with the answer. Default: `{}`. */
  readonly metadata?: { readonly [name: string]: string } | null;
  /**
   * With auto the last tokens of a prompt that is too long are kept, otherwise it is refused. Default:
   * `"disabled"`.
   */
  readonly truncation?: "auto" | "disabled" | null;
  /** Accepted without use: it limits tools that the server runs, and it runs none. Default: none. */
  readonly max_tool_calls?: number | null;
  /** Accepted without use. Default: `"auto"`. */
  readonly service_tier?: "auto" | "default" | "flex" | "scale" | "priority" | null;
  /** Accepted without use. Default: none. */
  readonly prompt_cache_key?: string | null;
  /** Accepted without use. Default: none. */
  readonly prompt_cache_retention?: string | null;
  /** Accepted without use. Default: none. */
  readonly prompt_cache_options?: { readonly [name: string]: any } | null;
  /** Accepted without use. Default: none. */
  readonly safety_identifier?: string | null;
};

export type ResponseTool = {
  /** `function`, or `custom`, which takes one text. Others are left out: the server runs no tools itself. */
  readonly type: string;
  /** What the model calls it by. */
  readonly name?: string | null;
  /** What it does, for the model. */
  readonly description?: string | null;
  /** JSON Schema of the arguments. */
  readonly parameters?: { readonly [name: string]: any } | null;
  /** Arguments follow the schema exactly. */
  readonly strict?: boolean | null;
  /** Of a custom tool: what its text is held to. */
  readonly format?: CustomToolFormat | null;
  readonly [name: string]: any;
};

export type Retention = {
  readonly stored: StoredBytes;
  /** What the entity may have of all that together; null where nothing limits it, or it is everybody's. */
  readonly quota_bytes: number | null;
  readonly rules: readonly RetentionRule[];
  /** What was removed by them, the latest day first; at most 1000 rows of the last 400 days. */
  readonly removed: readonly RemovedOfDay[];
};

export type RetentionRule = {
  /**
   * `trajectories` that were logged, what `jobs` that have ended trained on with their events, `recordings`
   * of completions, and `revisions` of feedback.
   */
  readonly kind: "trajectories" | "jobs" | "recordings" | "revisions";
  /** How long it stays; null for ever. */
  readonly days: number | null;
  /** Of an entity the newest so many bytes stay; null for all. */
  readonly entity_bytes: number | null;
  /** Of a model the newest so many stay; null for all. */
  readonly model_count: number | null;
  /** What there is of it. */
  readonly stored_bytes: number;
};

export type RetentionSweep = {
  readonly dry_run: boolean;
  readonly removed: readonly Removed[];
  /** False where there was no time for all of it: the server goes on by itself. */
  readonly is_complete: boolean;
};

export type RetentionSweepCreate = {
  /** Removes nothing, and says what would be. Default: `false`. */
  readonly dry_run?: boolean | null;
};

export type RewardRule = {
  readonly id: string;
  readonly entity: string;
  readonly project: string;
  readonly name: string;
  /** How feedback becomes a reward. */
  readonly terms: readonly RewardTerm[];
  /** Null of one that trains when somebody asks alone. */
  readonly standing: StandingOrder | null;
  /** Whether a standing one makes no jobs until it is resumed. */
  readonly paused: boolean;
  /** What a standing one is about; null of others. */
  readonly state: StandingState | null;
  readonly created_at: string;
  readonly updated_at: string;
};

export type RewardRuleChange = {
  /** Letters, digits and `._-`; unique among the rules of its project. */
  readonly name: string;
  /** How feedback becomes a reward. */
  readonly terms: readonly RewardTerm[];
  /** Has it train a model by itself, as feedback comes. */
  readonly standing?: StandingOrder | null;
};

export type RewardRuleCreate = {
  /** Whose it is. Default: the caller's own. */
  readonly entity?: string | null;
  /** Whose feedback it reads; comes into being at first use. */
  readonly project: string;
  /** Letters, digits and `._-`; unique among the rules of its project. */
  readonly name: string;
  /** How feedback becomes a reward. */
  readonly terms: readonly RewardTerm[];
  /** Has it train a model by itself, as feedback comes. */
  readonly standing?: StandingOrder | null;
};

export type RewardTerm = {
  /**
   * What it reads: reactions, a number in the payload, the value of an annotation, or which of two answers is
   * preferred.
   */
  readonly kind: "reaction" | "number" | "annotation" | "preference";
  /**
   * An answer's reward is the mean of what terms give by their weights, of those that found something to
   * read. Default: `1`.
   */
  readonly weight?: number | null;
  /**
   * Of `reaction`, required: what each emoji earns, by itself or by its name between colons (`:thumbs_up:`).
   * Of `annotation`: what each text earns.
   */
  readonly rewards?: { readonly [name: string]: number } | null;
  /** Of `number`, required, and of `preference`: which feedback. */
  readonly feedback_type?: string | null;
  /** Of `number`, required: where in the payload, as queries spell it: `scores.helpfulness`. */
  readonly path?: string | null;
  /**
   * Of `annotation`, required: `<name>` of feedback of the type `<maker>.annotation.<name>`, or
   * `annotation.<name>`, as the questions of a queue itself have it.
   */
  readonly name?: string | null;
  /** Of `number` and `annotation`: which numbers become 0 and 1; the others are between, or the nearest. */
  readonly range?: readonly number[] | null;
  /** Of the two instead of `range`: what the number is multiplied by. */
  readonly factor?: number | null;
  /** Beside `factor`: what is added. */
  readonly offset?: number | null;
  /** Of the two, beside `factor`: the least and the most that comes of it. Default: `[0,1]`. */
  readonly clamp?: readonly number[] | null;
  /**
   * Of `preference`: in how many comparisons with a middling answer, half of them won, each is taken to have
   * been. Default: `1`.
   */
  readonly prior?: number | null;
};

export type RewardedAnswer = {
  /** The answer's reference. */
  readonly call: string;
  /** How it begins. */
  readonly text: string;
  /** The version that answered. */
  readonly step: number;
  readonly reward: number;
  /** Whose feedback the reward is the mean of. */
  readonly people: number;
  /** What each term of the rule gave; null where it found nothing to read. */
  readonly terms: readonly ({
    readonly value: number;
    readonly people: number;
  } | null)[];
  /** The records that count; the first hundred. */
  readonly feedback_ids: readonly string[];
  /** `compared` was trained before: its reward counts for the group's mean, and it does not train again. */
  readonly use: "trained" | "compared";
};

export type ServedModel = {
  /** What `model` takes. */
  readonly id: string;
  readonly object: "model";
  /** Seconds since 1970. */
  readonly created: number;
  readonly owned_by: string;
  /** The model that a version is of; of all others the name itself. */
  readonly root: string;
  /** The base model of a trained one. */
  readonly parent: string | null;
  /** Tokens that prompt and answer may have together; null where the base model is not served. */
  readonly max_model_len: number | null;
  /** Rank of its new adapters; null leaves that to the server. */
  readonly lora_rank: number | null;
  /** What they are scaled by, divided by their rank; null leaves that to the server. */
  readonly lora_alpha: number | null;
  /** The projections that they are on; null stands for all seven. */
  readonly target_modules: readonly ("q_proj" | "k_proj" | "v_proj" | "o_proj" | "gate_proj" | "up_proj" | "down_proj")[] | null;
  /**
   * Whether a seeded request has the same tokens and log-probabilities each time, to the last bit, whatever
   * runs beside it; null where the base model is not served.
   */
  readonly exact: boolean | null;
  /**
   * What computes the base model's tokens: this machine's processor or graphics processor, or vLLM servers;
   * null where it is not served.
   */
  readonly device: {
    readonly value: "cpu" | "webgpu" | "vllm";
    /** Why it is not the one that was asked for, for people; empty when it is. */
    readonly reason: string;
  } | null;
  /** Whether the model calls tools; null where the base model is not served. */
  readonly tool_calls: {
    /** In which calls are read out of answers; `off` where none are. */
    readonly format: string;
    /** Why, for people. */
    readonly reason: string;
  } | null;
  /** What the model thinks before it answers; null where the base model is not served. */
  readonly thoughts: {
    /** Whether they are told apart from the answer. */
    readonly read: boolean;
    /** Why, for people. */
    readonly reason: string;
  } | null;
  /**
   * Whether the base model is in memory. An unloaded one is loaded for its next request; requests for a
   * failed one are answered 503 with the reason. Null if this server does not have the model.
   */
  readonly status: {
    readonly value: "loaded" | "loading" | "unloaded" | "failed";
    /** Why it is not loaded, for people; empty when it is. */
    readonly reason: string;
    /** What the base model takes while it is loaded, its running requests included, at most. */
    readonly memory_bytes: number;
    /**
     * Of `memory_bytes`, the most that keys and values of requests may take. They begin with nothing and grow
     * with what runs; small models never need so much.
     */
    readonly key_value_bytes: number;
  } | null;
  /** What the base model's files are; null where it is not served. */
  readonly files: {
    /** Of the weights, as they lie on the disk. */
    readonly weight_bytes: number;
    /** As the model's card or its file names it; null where neither does. */
    readonly license: string | null;
  } | null;
};

export type StandingOrder = {
  /** The model to train, of the rule's project. */
  readonly model_id: string;
  /**
   * Which feedback of the model's project: `{"$expr": …}` in the language of `/feedback/query`. Default: all
   * that the rule reads.
   */
  readonly filter?: { readonly [name: string]: any } | null;
  /** Feedback from then on alone. */
  readonly since?: string | null;
  /** Answers of versions that are more versions older than the newest do not train. Default: any. */
  readonly version_age_max?: number | null;
  /** How it is trained, as for any training job; what is not applied is listed in the job. */
  readonly experimental_config?: ExperimentalTrainingConfig | null;
  /**
   * No job with fewer groups: prompts with answers of differing rewards, one with new feedback at least.
   * Default: `8`.
   */
  readonly groups_min?: number | null;
  /** No job with more; what is left waits for the next. Default: `256`. */
  readonly groups_max?: number | null;
  /** From one job to the next at least. Default: `3600`. */
  readonly seconds_between?: number | null;
  /** Jobs within 24 hours at most. Default: `24`. */
  readonly jobs_per_day?: number | null;
  /** Tokens of prompts and answers that its jobs within 24 hours may train on. Default: any number. */
  readonly tokens_per_day?: number | null;
};

export type StandingState = {
  /**
   * `collecting` lacks groups, `training` has a job that has not ended, `waiting` may not make one yet,
   * `ready` makes one at once.
   */
  readonly status: "paused" | "collecting" | "training" | "waiting" | "ready";
  /** Why, for people. */
  readonly reason: string;
  /** Not before; null where it may be now. */
  readonly next_job_at: string | null;
  readonly groups_ready: number;
  readonly groups_min: number;
  readonly jobs_last_day: number;
  readonly tokens_last_day: number;
  readonly last_job_id: string | null;
};

export type StoredBytes = {
  /** Of logged trajectories. */
  readonly trajectories: number;
  /** Of what jobs trained on, and the events of those that have ended. */
  readonly jobs: number;
  /** Of recorded completions, with what several have in common once. */
  readonly recordings: number;
  /** Of what feedback was before it was replaced. */
  readonly revisions: number;
  /** Of the payloads of feedback. */
  readonly feedback: number;
  /** Of uploaded files. */
  readonly files: number;
  /** Of files that clients of traces published. */
  readonly traces: number;
};

export type StoredChatCompletion = {
  /** `chatcmpl-` and the request's id. */
  readonly id: string;
  readonly object: "chat.completion";
  /** Seconds since 1970. */
  readonly created: number;
  /** The name that was asked for. */
  readonly model: string;
  /** Names base, version and engine build. */
  readonly system_fingerprint: string;
  readonly request_id: string;
  readonly service_tier: "default";
  readonly metadata: { readonly [name: string]: string };
  readonly usage: {
    /** Tokens of the prompt, once whatever n is. */
    readonly prompt_tokens: number;
    /** Tokens of all choices. */
    readonly completion_tokens: number;
    /** Both together. */
    readonly total_tokens: number;
    readonly prompt_tokens_details: {
      /** Tokens of the prompt, from its first on, that an earlier request had computed. */
      readonly cached_tokens: number;
    };
  };
  /** Without log-probabilities; empty of one that was too large to be recorded whole. */
  readonly choices: readonly Choice[];
};

export type StoredMessage = {
  /** Of the message: the completion's, and its place. */
  readonly id: string;
  readonly role: string;
  readonly [name: string]: unknown;
};

/** With every field of the trajectory as it was sent. */
export type StoredTrajectory = {
  /** What `after` takes to go on behind it. */
  readonly id: string;
  readonly source: "log" | "job";
  /** Of the log, or of the training job. */
  readonly source_id: string;
  readonly split: string;
  /** Null for a job that has not begun. */
  readonly step: number | null;
  readonly recorded_at: string;
  readonly group_index: number;
  /** Of the trajectory in its group. */
  readonly index: number;
  /** Empty where it has more than 1 MiB. */
  readonly group_metadata: { readonly [name: string]: unknown };
  /** Empty where it has more than 1 MiB. */
  readonly group_metrics: { readonly [name: string]: unknown };
  readonly reward: number;
  /**
   * Only where the row does not fit in a page: how many bytes it has. What is long of it is empty here; the
   * export has all of it.
   */
  readonly left_out_bytes?: number;
  readonly [name: string]: unknown;
};

export type StreamOptions = {
  /** A last chunk has the usage, and no choices. Default: `false`. */
  readonly include_usage?: boolean | null;
  /** With include_usage: every chunk has the usage so far. Default: `false`. */
  readonly continuous_usage_stats?: boolean | null;
};

export type StructuredOutputs = {
  /** The answer is JSON of this JSON Schema, which is an object or a text of it. */
  readonly json?: string | { readonly [name: string]: any } | null;
  /** The whole answer matches this regular expression. */
  readonly regex?: string | null;
  /** The answer is one of these texts. */
  readonly choice?: readonly string[] | null;
  /** The answer is a text of this grammar, in GBNF or in Lark's notation. */
  readonly grammar?: string | null;
  /** With true the answer is any JSON object. */
  readonly json_object?: boolean | null;
  /** Accepted without use: there is nothing to fall back to. Default: `false`. */
  readonly disable_fallback?: boolean;
  /** JSON is written without blanks between its parts. Default: `false`. */
  readonly disable_any_whitespace?: boolean;
  /** Objects have only the properties that their schema names. Default: `false`. */
  readonly disable_additional_properties?: boolean;
  /** What may stand between the parts of JSON, as a regular expression. */
  readonly whitespace_pattern?: string | null;
  /** The answer is free text with tagged parts that are constrained, described in JSON. */
  readonly structural_tag?: string | null;
  /** `auto` or `hone`, which are the same. */
  readonly _backend?: string | null;
  /** Accepted without use. Default: `false`. */
  readonly _backend_was_auto?: boolean;
};

export type SupervisedConfig = {
  /** Conversations of one step; auto is 2. Default: `2`. */
  readonly batch_size?: number | "auto" | null;
  /**
   * Of the products with the base model's weights: int8 takes a step faster over rounded weights, and the job
   * tells how far its log-probabilities are from those over float32. Default: float32.
   */
  readonly base_precision?: "float32" | "int8" | null;
  /** Of AdamW: one for all steps, or a list with one for each batch. Default: `0.00005`. */
  readonly learning_rate?: number | readonly number[] | null;
  /** How often each conversation trains. Default: `1`. */
  readonly epochs?: number | null;
  /** The same as epochs, by another name. Default: `1`. */
  readonly num_epochs?: number | null;
  /** Of AdamW, times the learning rate. Default: `0`. */
  readonly weight_decay?: number | null;
  /** Gradients are scaled down to this norm; 0 never scales. Default: `1`. */
  readonly max_grad_norm?: number | null;
  /**
   * Whether the conversations are shuffled, anew for each epoch; the same job shuffles alike. Default:
   * `true`.
   */
  readonly shuffle?: boolean | null;
  /**
   * Which messages of the assistant train: all, or the last message of each conversation alone, which then
   * must be the assistant's. Default: `"all"`.
   */
  readonly assistant_turns?: "all" | "last" | null;
  /** Accepted: every step is an event with its metrics. */
  readonly metric_logging?: unknown;
  /**
   * Refused with a value that asks for more than is done. The optimizer is AdamW with betas of 0.9 and 0.99.
   */
  readonly adam_beta1?: unknown;
  /**
   * Refused with a value that asks for more than is done. The optimizer is AdamW with betas of 0.9 and 0.99.
   */
  readonly adam_beta2?: unknown;
  /** Refused with a value that asks for more than is done. The optimizer is AdamW with an epsilon of 1e-8. */
  readonly adam_epsilon?: unknown;
  /**
   * Refused. The optimizer is AdamW with betas of 0.9 and 0.99. Its weight_decay and max_grad_norm are
   * options of their own.
   */
  readonly adam_params?: unknown;
  /** Accepted. Every job makes a version. */
  readonly final_training_step?: unknown;
  /** Refused with a value that asks for more than is done. Say batch_size, the sequences of a step. */
  readonly gradient_accumulation_steps?: unknown;
  /**
   * Refused. The shape of adapters is the model's: say lora_rank, lora_alpha and target_modules when it is
   * registered, before its first job.
   */
  readonly lora_alpha?: unknown;
  /**
   * Refused. The shape of adapters is the model's: say lora_rank, lora_alpha and target_modules when it is
   * registered, before its first job.
   */
  readonly lora_config?: unknown;
  /** Refused with a value that asks for more than is done. Adapters train without dropout. */
  readonly lora_dropout?: unknown;
  /**
   * Refused. The shape of adapters is the model's: say lora_rank, lora_alpha and target_modules when it is
   * registered, before its first job.
   */
  readonly lora_rank?: unknown;
  /**
   * Refused with a value that asks for more than is done. The learning rate stays as it is within a job; send
   * jobs with rates of their own.
   */
  readonly lr_scheduler?: unknown;
  /**
   * Refused with a value that asks for more than is done. The learning rate stays as it is within a job; send
   * jobs with rates of their own.
   */
  readonly lr_scheduler_type?: unknown;
  /** Refused with a value that asks for more than is done. Say steps and passes, or batch_size. */
  readonly max_steps?: unknown;
  /**
   * Refused with a value that asks for more than is done. The optimizer is AdamW with betas of 0.9 and 0.99.
   */
  readonly optim?: unknown;
  /** Accepted. The optimizer's state is kept with every version. */
  readonly optimizer_save_interval?: unknown;
  /**
   * Refused. The shape of adapters is the model's: say lora_rank, lora_alpha and target_modules when it is
   * registered, before its first job.
   */
  readonly peft_args?: unknown;
  /** Refused with a value that asks for more than is done. Every job makes a version. */
  readonly save_checkpoint?: unknown;
  /** Refused. What is random in a job is decided by its content: the same job trains the same. */
  readonly seed?: unknown;
  /** Refused. A job starts from the model's newest version. */
  readonly start_step?: unknown;
  /**
   * Refused. The shape of adapters is the model's: say lora_rank, lora_alpha and target_modules when it is
   * registered, before its first job.
   */
  readonly target_modules?: unknown;
  /**
   * Refused with a value that asks for more than is done. The learning rate stays as it is within a job; send
   * jobs with rates of their own.
   */
  readonly warmup_ratio?: unknown;
  /**
   * Refused with a value that asks for more than is done. The learning rate stays as it is within a job; send
   * jobs with rates of their own.
   */
  readonly warmup_steps?: unknown;
};

export type SupervisedConfigInEffect = {
  readonly base_precision?: "float32" | "int8" | null;
  readonly batch_size: number;
  readonly learning_rate: number | readonly number[];
  readonly epochs: number;
  readonly shuffle: boolean;
  readonly weight_decay: number;
  readonly max_grad_norm: number;
  readonly assistant_turns: "all" | "last";
};

export type SupervisedJobCreate = {
  /** The model to train; best sent first. */
  readonly model_id: string;
  /** What it is trained on; either this or training_data_url. */
  readonly training_data?: readonly ExampleConversation[] | null;
  /** A file of this server with a conversation a line: its id, `hone-file://<id>`, or its address here. */
  readonly training_data_url?: string | null;
  /** How it is trained. */
  readonly config?: SupervisedConfig | null;
  /** Nothing of it is applied; the job lists what it held. */
  readonly experimental_config?: { readonly [name: string]: any } | null;
};

export type SystemCheck = {
  readonly status: "ok" | "unavailable";
  /** The server: `ok`, or what is wrong. */
  readonly api: string;
  /** The database: `ok`, or what is wrong. */
  readonly database: string;
  /** Training jobs: `ok`, or what is wrong. */
  readonly cpu_queue: string;
  /** The engine: `ok`, or what is wrong. */
  readonly gpu_queue: string;
  /**
   * What is not as usual and no fault, for people, as that the database is a newer program's, beside which
   * this one goes on; else empty.
   */
  readonly note: string;
  readonly [name: string]: string;
};

export type TextConfig = {
  /** The form that the answer must have. Default: text. */
  readonly format?: TextFormat | null;
  /** Accepted without use: models here have one way. Default: `"medium"`. */
  readonly verbosity?: "low" | "medium" | "high" | null;
};

export type TextFormat = {
  /** What the answer is held to. */
  readonly type: "text" | "json_object" | "json_schema";
  /** For people; nothing depends on it. */
  readonly name?: string | null;
  /** For people; nothing depends on it. */
  readonly description?: string | null;
  /** With `json_schema`, and optionally with `json_object`: the JSON Schema. */
  readonly schema?: { readonly [name: string]: any } | null;
  /** Every schema is kept exactly, whatever this says. */
  readonly strict?: boolean | null;
  readonly [name: string]: any;
};

export type TokenizeRequest = {
  /**
   * A base model, or a trained one by id, name, project/name or entity/project/name, each with :stepN or
   * :latest where wanted. Default: the server's default model.
   */
  readonly model?: string | null;
  /** A text, tokenized as it stands. Default: messages are there instead. */
  readonly prompt?: string | null;
  /**
   * The conversation so far, oldest first; the chat template decides about roles. Where it refuses a system
   * message behind others, all system messages are joined into the first.
   */
  readonly messages?: readonly Message[];
  /** Functions that the chat template shows to the model, and that it may call. Default: none. */
  readonly tools?: readonly Tool[] | null;
  /**
   * Documents that the chat template shows to the model, if it does; all their values are texts. Default:
   * none.
   */
  readonly documents?: readonly { readonly [name: string]: string }[] | null;
  /**
   * A Jinja template instead of the model's own, rendered within limits of size and time; needed where the
   * model has none. Default: the model's own.
   */
  readonly chat_template?: string | null;
  /**
   * Further variables for the chat template. They hide its own, but neither the messages nor what a field of
   * the request says. Default: `{}`.
   */
  readonly chat_template_kwargs?: { readonly [name: string]: any } | null;
  /**
   * How much the model is to think: the chat template sees it as reasoning_effort, and as enable_thinking,
   * which only `none` makes false. Default: the template's own.
   */
  readonly reasoning_effort?: "none" | "minimal" | "low" | "medium" | "high" | "xhigh" | "max" | null;
  /**
   * Ends the prompt with what opens the assistant's turn. Default: true; false with continue_final_message.
   */
  readonly add_generation_prompt?: boolean;
  /**
   * Leaves the last message open, and the model goes on with it; excludes add_generation_prompt. Default:
   * `false`.
   */
  readonly continue_final_message?: boolean;
  /**
   * Adds the tokenizer's special tokens, such as one that begins a text. Default: true for a prompt, false
   * for messages, whose template writes its own.
   */
  readonly add_special_tokens?: boolean;
  /** Whether each token is answered as the tokenizer spells it, too. Default: `false`. */
  readonly return_token_strs?: boolean | null;
};

export type Tokenized = {
  /** How many tokens there are. */
  readonly count: number;
  /** How many the model takes, prompt and answer together. */
  readonly max_model_len: number;
  /** Their ids, as a chat would have them. */
  readonly tokens: readonly number[];
  /**
   * As the tokenizer spells them (`▁hello`, `Ġhello`), where that was asked for; `/detokenize` says their
   * text.
   */
  readonly token_strs: readonly string[] | null;
};

export type Tool = {
  /** `custom` takes one text instead of arguments. */
  readonly type: "function" | "custom";
  /** The function, of a tool of this type. */
  readonly function?: FunctionDefinition | null;
  /** The tool, of one of this type. */
  readonly custom?: CustomDefinition | null;
  readonly [name: string]: any;
};

export type ToolCall = {
  readonly id: string;
  readonly type: "function" | "custom";
  readonly function?: {
    readonly name: string;
    /** JSON. */
    readonly arguments: string;
  };
  readonly custom?: {
    readonly name: string;
    /** Of a custom tool: its text. */
    readonly input: string;
  };
};

export type ToolChoiceObject = {
  /** `function`, `custom` or `allowed_tools`. */
  readonly type: string;
  /** One of the tools' names. */
  readonly name?: string | null;
  /** Of allowed tools: whether one of them must be called. */
  readonly mode?: "auto" | "required" | null;
  /** Tools that may be called, by type and name. */
  readonly tools?: readonly { readonly [name: string]: any }[] | null;
  readonly [name: string]: any;
};

export type ToolFormat = {
  /** `text` takes any text. */
  readonly type: "text" | "grammar";
  /** With `grammar`: what the text matches. */
  readonly grammar?: ToolGrammar | null;
  readonly [name: string]: any;
};

export type ToolGrammar = {
  /** How it is written. */
  readonly syntax: "lark" | "regex";
  /** The grammar, which every call keeps. */
  readonly definition: string;
  readonly [name: string]: any;
};

export type TrainingEvent = {
  readonly id: string;
  readonly type: "preparing" | "training_started" | "gradient_step" | "training_ended" | "training_failed";
  /** Numbers, and `error_message` of a failure. */
  readonly data: { readonly [name: string]: number | string };
};

export type TrainingJob = {
  readonly id: string;
  readonly model_id: string;
  /** The model as `<entity>/<project>/<name>`; null if it was deleted meanwhile. */
  readonly model: string | null;
  /** Reinforcement learning, supervised fine-tuning, or preference training. */
  readonly kind: "rl" | "sft" | "preference";
  readonly state: "queued" | "running" | "succeeded" | "failed" | "cancelled";
  readonly created_at: string;
  readonly started_at: string | null;
  readonly ended_at: string | null;
  /** From its start to its end, or until now; null if it never started. */
  readonly duration_seconds: number | null;
  /** Why it failed, or that it was cancelled. */
  readonly error_message: string | null;
  /** Attempts begun. */
  readonly attempts: number;
  /** Of them, lost with their training process since one kept further steps. */
  readonly attempts_lost: number;
  readonly attempts_lost_max: number;
  /** Of them, lost with their server since one kept further steps. */
  readonly restarts: number;
  readonly restarts_max: number;
  /**
   * What a queued job waits for: a base model that no server has, or what a machine lacks that tried it; of a
   * running one, what it waited for the last time, until it has got further.
   */
  readonly waiting_for: string | null;
  /** What whoever sent it should know, though it works. */
  readonly warnings: readonly string[];
  readonly cancel_requested: boolean;
  /** What it is about; null unless it runs. */
  readonly phase: "preparing" | "training" | "publishing" | null;
  readonly progress: {
    /**
     * Conversations, trajectory groups or preferences that are made into tokens; null in jobs from before.
     */
    readonly prepared: number | null;
    readonly prepared_total: number | null;
    readonly gradient_steps: number;
    /** Null until all is prepared. */
    readonly gradient_steps_total: number | null;
    /** Of the steps taken, how many are not taken again when its process or server dies. */
    readonly gradient_steps_saved: number;
  } | null;
  /**
   * Until all is prepared, or until its last step, by the speed so far; null unless it runs and that was
   * measured, which takes two steps.
   */
  readonly seconds_left: number | null;
  /** Of reinforcement learning, as it takes effect; null of a job of another kind. */
  readonly experimental_config: { readonly [name: string]: number | boolean | string | null } | null;
  /** Of supervised fine-tuning, as it takes effect; null of a job of another kind. */
  readonly config: SupervisedConfigInEffect | null;
  /** Of preference training, as it takes effect; null of a job of another kind. */
  readonly preference_config: PreferenceConfigInEffect | null;
  /** Keys that were sent and ask for what is not done. */
  readonly config_not_applied: readonly string[];
  readonly counts: {
    readonly groups_submitted: number;
    readonly groups_trainable: number;
    readonly trajectories: number;
    readonly sequences: number;
    readonly trainable_tokens: number;
    readonly skipped: { readonly [name: string]: number };
    readonly skipped_groups: { readonly [name: string]: number };
    /** What the job takes over its sequences; null of a job from before. */
    readonly steps: {
      /** Optimizer steps, of all passes. */
      readonly count: number;
      /** How often each sequence trains. */
      readonly passes: number;
      /** Sequences of the step that has most. */
      readonly sequences_max: number;
    } | null;
  } | null;
  /** The version that it made. */
  readonly result_step: number | null;
  /**
   * Mean rewards of the version that it started from and of the version that it made, one entry for each
   * metric that has a value. `val/reward` and `train/reward` were logged for the version. `data/reward` is
   * the reward of the answers that were sampled from the version and then trained on: it has no `after` until
   * the next job has trained.
   */
  readonly rewards: readonly {
    readonly metric: "val/reward" | "train/reward" | "data/reward";
    readonly before: number | null;
    readonly after: number | null;
  }[];
  /** The job that it repeats, to compare with its version; it makes none itself. */
  readonly replay_of: string | null;
  /** The job that failed or was cancelled and whose data it trains on. */
  readonly retry_of: string | null;
  /** Of a replay that succeeded. */
  readonly replay: Replay | null;
  /** When what it trained on was removed, as the server's retention says; null while it is there. */
  readonly data_removed_at: string | null;
};

export type TrainingJobCreate = {
  /** The model to train; best sent first. */
  readonly model_id: string;
  /** What it is trained on: each group holds answers to one problem, which are compared. */
  readonly trajectory_groups: readonly TrajectoryGroup[];
  /** How it is trained; what is not applied is listed in the job. */
  readonly experimental_config?: ExperimentalTrainingConfig | null;
};

export type TrainingSource = {
  /** What `after` takes. */
  readonly id: string;
  /** The answer's reference. */
  readonly call: string;
  /** The version that answered. */
  readonly step: number;
  /** Null of an answer that people did not rate, but corrected. */
  readonly reward: number | null;
  /** Whose feedback it trained by. */
  readonly people: number;
  /** `compared` was trained before, and nothing new was said of it; the others were compared with it. */
  readonly use: "trained" | "compared";
  /** The records that it trained by. */
  readonly feedback: readonly {
    readonly id: string;
    /** Whether no earlier version was trained on it, as it was. */
    readonly is_new: boolean;
  }[];
};

export type Trajectory = {
  /** The conversation: messages, and Choices where the model answered. */
  readonly messages_and_choices?: readonly MessageOrChoice[];
  /** The tools that the requests had. */
  readonly tools?: readonly { readonly [name: string]: any }[] | null;
  /** Further conversations that are rewarded together. */
  readonly additional_histories?: readonly History[] | null;
  /** How good it was. Default: `0`. */
  readonly reward?: number;
  /** The model's version at its beginning. */
  readonly initial_policy_version?: number | null;
  /** The model's version at its end. */
  readonly final_policy_version?: number | null;
  /** Measured of it; means of them are the log's metrics. Default: `{}`. */
  readonly metrics?: { readonly [name: string]: number | boolean } | null;
  /** Kept, and shown again. */
  readonly auto_metrics?: { readonly [name: string]: number | boolean } | null;
  /** Kept; a `scenario_id` in it is counted. Default: `{}`. */
  readonly metadata?: { readonly [name: string]: any } | null;
  /** Kept, and shown again. Default: `[]`. */
  readonly logs?: readonly unknown[] | null;
  /** In ISO 8601. */
  readonly start_time?: string | null;
  /** As the request had them. */
  readonly documents?: readonly { readonly [name: string]: any }[] | null;
  /** As the request had it. */
  readonly chat_template?: string | null;
  /** As the request had them. */
  readonly chat_template_kwargs?: { readonly [name: string]: any } | null;
  /** As the request had it. */
  readonly reasoning_effort?: string | null;
  /** As the request had it. */
  readonly add_generation_prompt?: boolean | null;
  /** As the request had it. */
  readonly continue_final_message?: boolean | null;
  /** As the request had it. */
  readonly add_special_tokens?: boolean | null;
  /** As the request had it. */
  readonly truncate_prompt_tokens?: number | null;
  readonly [name: string]: any;
};

export type TrajectoryCount = {
  readonly source: "log" | "job";
  readonly split: string;
  readonly count: number;
  readonly mean_reward: number;
};

export type TrajectoryGroup = {
  /** Attempts at one problem. */
  readonly trajectories: readonly Trajectory[];
  /** Attempts that failed to run. Default: `[]`. */
  readonly exceptions?: readonly { readonly [name: string]: any }[] | null;
  /** Kept, and shown again. Default: `{}`. */
  readonly metadata?: { readonly [name: string]: any } | null;
  /** Measured of the group. Default: `{}`. */
  readonly metrics?: { readonly [name: string]: number | boolean } | null;
  /** Kept, and shown again. Default: `[]`. */
  readonly logs?: readonly unknown[] | null;
  readonly [name: string]: any;
};

export type TrajectoryLog = {
  /**
   * What the trajectories are for, such as train or val; its metrics are named after it. Default: `"val"`.
   */
  readonly split?: string | null;
  /**
   * Version that the trajectories belong to. Without it, the final_policy_version that all of them share,
   * else the newest version.
   */
  readonly step?: number | null;
  /** What is logged. */
  readonly trajectory_groups: readonly TrajectoryGroup[];
  /** The path's, if anything. */
  readonly model_id?: string | null;
};

export type TrajectoryOutline = {
  /** Its number among the trajectories of its model, from 1 on, in the order they were stored. */
  readonly id: string;
  readonly source: "log" | "job";
  /** Of the log, or of the training job. */
  readonly source_id: string;
  readonly split: string;
  /** The model's newest version when it was logged; null for a job's. */
  readonly step: number | null;
  readonly recorded_at: string;
  readonly group_index: number;
  /** Of the trajectory in its group. */
  readonly index: number;
  readonly reward: number;
  /** Its first twelve. */
  readonly metrics: { readonly [name: string]: number | boolean };
  /** Answers of the model in it. */
  readonly reply_count: number;
  /** Tokens of those answers, as far as they carry them. */
  readonly token_count: number;
  readonly has_logprobs: boolean;
  /** How the first message of a user begins. */
  readonly prompt: string;
  /** How the last answer begins. */
  readonly answer: string;
};

export type TransferRequest = {
  /** Of the prompt: `remote_request_id`. */
  readonly handle: string;
  /** Of the request that had it computed. */
  readonly entity: string;
};

export type Usage = {
  /** Of the row, for `after`. */
  readonly id: string;
  /** `YYYY-MM-DD` in UTC. */
  readonly day: string;
  /** Null for what no key asked for, such as a job of a standing rule. */
  readonly key_id: string | null;
  /** The key's. */
  readonly entity: string;
  /** `<entity>/<project>/<name>`, or a base model's name. */
  readonly model: string;
  /** Answers that the model began; each prompt of a text completion is one. */
  readonly requests: number;
  readonly prompt_tokens: number;
  /** Those of the prompts that were not computed anew. */
  readonly cached_tokens: number;
  readonly completion_tokens: number;
  /** Tokens that jobs which succeeded learned from, each as often as they did. */
  readonly training_tokens: number;
};

export type WeaveCall = {
  readonly id: string;
  readonly project_id: string;
  readonly op_name: string;
  readonly display_name: string | null;
  readonly trace_id: string;
  readonly parent_id: string | null;
  readonly thread_id: string | null;
  readonly turn_id: string | null;
  readonly started_at: string;
  readonly ended_at: string | null;
  readonly attributes: { readonly [name: string]: unknown };
  readonly inputs: { readonly [name: string]: unknown };
  readonly output: unknown;
  readonly exception: string | null;
  /** As its end has it; `weave` has its status, name and latency. */
  readonly summary: { readonly [name: string]: unknown };
  /** The owner of the key that recorded it. */
  readonly wb_user_id: string;
  readonly wb_run_id: string | null;
  readonly wb_run_step: number | null;
};

export type WeaveCallBatchItem = {
  /** Which of the two it is. */
  readonly mode: "start" | "end";
  /** The one that `mode` says. */
  readonly req: WeaveCallPart;
};

export type WeaveCallBatchReq = {
  /** All are stored, or none. */
  readonly batch: readonly WeaveCallBatchItem[];
};

export type WeaveCallComplete = {
  /** `<entity>/<project>`. */
  readonly project_id: string;
  /** Of the call. */
  readonly id: string;
  /** The op that was called: its reference, or any name. */
  readonly op_name: string;
  /** What people call it. */
  readonly display_name?: string | null;
  /** What it is a part of. Default: a fresh one. */
  readonly trace_id?: string | null;
  /** The call that made it; null for the root of a trace. */
  readonly parent_id?: string | null;
  /** The thread that it belongs to. */
  readonly thread_id?: string | null;
  /** The turn of that. */
  readonly turn_id?: string | null;
  /** When it began. */
  readonly started_at: string;
  /** What the client says of it. */
  readonly attributes: { readonly [name: string]: any };
  /** What it was given, by name. */
  readonly inputs: { readonly [name: string]: any };
  /** Kept, and not shown. */
  readonly otel_dump?: { readonly [name: string]: any } | null;
  /** The server fills it. */
  readonly wb_user_id?: null;
  /** The run that it belongs to. */
  readonly wb_run_id?: string | null;
  /** The step of that. */
  readonly wb_run_step?: number | null;
  /** When it ended. */
  readonly ended_at: string;
  /** What went wrong. */
  readonly exception?: string | null;
  /** What came of it. */
  readonly output?: unknown;
  /** What it sums up, such as tokens that were used. */
  readonly summary?: { readonly [name: string]: any } | null;
  /** The step of the run when it ended. */
  readonly wb_run_step_end?: number | null;
};

/** The end of a call. */
export type WeaveCallEnd = {
  /** `<entity>/<project>`. */
  readonly project_id: string;
  /** Of the call. */
  readonly id: string;
  /** When it ended. */
  readonly ended_at: string;
  /** What went wrong. */
  readonly exception?: string | null;
  /** What came of it. */
  readonly output?: unknown;
  /** What it sums up, such as tokens that were used. */
  readonly summary?: { readonly [name: string]: any } | null;
  /** The step of the run when it ended. */
  readonly wb_run_step_end?: number | null;
};

export type WeaveCallEndReq = {
  /** The end of a call. */
  readonly end: WeaveCallEnd;
};

export type WeaveCallFilter = {
  /** Calls of these ops; a reference that ends in `:*` stands for all versions. */
  readonly op_names?: readonly string[] | null;
  /** These calls. */
  readonly call_ids?: readonly string[] | null;
  /** Those of these traces. */
  readonly trace_ids?: readonly string[] | null;
  /** Those that these calls made. */
  readonly parent_ids?: readonly string[] | null;
  /** Those alone that no call made. */
  readonly trace_roots_only?: boolean | null;
  /** Not supported. */
  readonly input_refs?: readonly string[] | null;
  /** Not supported. */
  readonly output_refs?: readonly string[] | null;
  /** Not supported. */
  readonly thread_ids?: readonly string[] | null;
  /** Not supported. */
  readonly turn_ids?: readonly string[] | null;
  /** Not supported. */
  readonly wb_user_ids?: readonly string[] | null;
  /** Not supported. */
  readonly wb_run_ids?: readonly string[] | null;
};

export type WeaveCallOrder = {
  /** When they began. */
  readonly field: "started_at";
  /** Rising or falling. */
  readonly direction: "asc" | "desc";
};

/** The one that `mode` says. */
export type WeaveCallPart = {
  /** The beginning of a call. */
  readonly start?: WeaveCallStart;
  /** The end of a call. */
  readonly end?: WeaveCallEnd;
};

export type WeaveCallReadReq = {
  /** `<entity>/<project>`. */
  readonly project_id: string;
  /** Of the call. */
  readonly id: string;
  /** Not supported. */
  readonly include_costs?: boolean | null;
  /** Not supported. */
  readonly include_storage_size?: boolean | null;
  /** Not supported. */
  readonly include_total_storage_size?: boolean | null;
};

/** The beginning of a call. */
export type WeaveCallStart = {
  /** `<entity>/<project>`. */
  readonly project_id: string;
  /** Of the call. Default: a fresh one. */
  readonly id?: string | null;
  /** The op that was called: its reference, or any name. */
  readonly op_name: string;
  /** What people call it. */
  readonly display_name?: string | null;
  /** What it is a part of. Default: a fresh one. */
  readonly trace_id?: string | null;
  /** The call that made it; null for the root of a trace. */
  readonly parent_id?: string | null;
  /** The thread that it belongs to. */
  readonly thread_id?: string | null;
  /** The turn of that. */
  readonly turn_id?: string | null;
  /** When it began. */
  readonly started_at: string;
  /** What the client says of it. */
  readonly attributes: { readonly [name: string]: any };
  /** What it was given, by name. */
  readonly inputs: { readonly [name: string]: any };
  /** Kept, and not shown. */
  readonly otel_dump?: { readonly [name: string]: any } | null;
  /** The server fills it. */
  readonly wb_user_id?: null;
  /** The run that it belongs to. */
  readonly wb_run_id?: string | null;
  /** The step of that. */
  readonly wb_run_step?: number | null;
};

export type WeaveCallStartReq = {
  /** The beginning of a call. */
  readonly start: WeaveCallStart;
};

export type WeaveCallsCompleteReq = {
  /** All are stored, or none. */
  readonly batch: readonly WeaveCallComplete[];
};

export type WeaveCallsDeleteReq = {
  /** `<entity>/<project>`. */
  readonly project_id: string;
  /** The calls. */
  readonly call_ids: readonly string[];
  /** The server fills it. */
  readonly wb_user_id?: null;
};

export type WeaveCallsQueryReq = {
  /** `<entity>/<project>`. */
  readonly project_id: string;
  /** Which calls; all unless given. */
  readonly filter?: WeaveCallFilter | null;
  /** Not supported: calls are found by `filter`. */
  readonly query?: { readonly [name: string]: any } | null;
  /** Most calls of the answer; all unless given. */
  readonly limit?: number | null;
  /** How many are passed over. Default: `0`. */
  readonly offset?: number | null;
  /** As they began unless given. */
  readonly sort_by?: readonly WeaveCallOrder[] | null;
  /** The fields of each call, beside those that every call has; all unless given. */
  readonly columns?: readonly string[] | null;
  /** Has the feedback on each call in `summary.weave.feedback`, up to 100 records. Default: `false`. */
  readonly include_feedback?: boolean | null;
  /** Not supported. */
  readonly include_costs?: boolean | null;
  /** Not supported. */
  readonly include_storage_size?: boolean | null;
  /** Not supported. */
  readonly include_total_storage_size?: boolean | null;
  /** Not supported: clients read references by POST /refs/read_batch. */
  readonly expand_columns?: readonly string[] | null;
  /** Without effect. */
  readonly return_expanded_column_values?: boolean | null;
};

export type WeaveCallsStatsReq = {
  /** `<entity>/<project>`. */
  readonly project_id: string;
  /** Which calls; all unless given. */
  readonly filter?: WeaveCallFilter | null;
  /** Not supported: calls are found by `filter`. */
  readonly query?: { readonly [name: string]: any } | null;
  /** Counts no further. */
  readonly limit?: number | null;
  /** Not supported. */
  readonly include_total_storage_size?: boolean | null;
  /** Not supported. */
  readonly expand_columns?: readonly string[] | null;
};

export type WeaveFileContentReq = {
  /** `<entity>/<project>`. */
  readonly project_id: string;
  /** What names the content. */
  readonly digest: string;
};

export type WeaveFileCreateReq = {
  /** `<entity>/<project>`. */
  readonly project_id: string;
  /** The digest that the client has computed; 409 where it is another. */
  readonly expected_digest?: string;
  /** At most 64 MiB. */
  readonly file: string;
};

export type WeaveGraphqlReq = {
  /** Asks for `project`, `upsertModel` or `viewer`. */
  readonly query: string;
  /** What the query names. */
  readonly variables?: { readonly [name: string]: any } | null;
  /** Which part of the query is asked. */
  readonly operationName?: string | null;
};

export type WeaveObject = {
  readonly project_id: string;
  readonly object_id: string;
  readonly digest: string;
  /** Counts from 0 among the versions of the name. */
  readonly version_index: number;
  /** 1 where no version is newer. */
  readonly is_latest: number;
  readonly kind: "object" | "op";
  readonly base_object_class: string | null;
  readonly leaf_object_class: string | null;
  readonly created_at: string;
  /** The owner of the key that published it. */
  readonly wb_user_id: string;
  /** The content. */
  readonly val: unknown;
};

export type WeaveObjectCreateReq = {
  /** What is published. */
  readonly obj: WeaveObjectDraft;
};

export type WeaveObjectDeleteReq = {
  /** `<entity>/<project>`. */
  readonly project_id: string;
  /** The object's name. */
  readonly object_id: string;
  /** The versions; all of the name unless given. */
  readonly digests?: readonly string[] | null;
  /** The server fills it. */
  readonly wb_user_id?: null;
};

/** What is published. */
export type WeaveObjectDraft = {
  /** `<entity>/<project>`. */
  readonly project_id: string;
  /** Its name: letters, digits, `_`, `-` and `.`. */
  readonly object_id: string;
  /** The content: any JSON of at most 4 MiB. */
  readonly val: unknown;
  /** The class of a value that names none itself, such as `AnnotationSpec`. */
  readonly builtin_object_class?: string | null;
  /** The digest that the client has computed; 409 where it is another. */
  readonly expected_digest?: string | null;
  /** The server fills it. */
  readonly wb_user_id?: null;
};

export type WeaveObjectFilter = {
  /** Those whose class goes back to one of these. */
  readonly base_object_classes?: readonly string[] | null;
  /** Those of one of these classes. */
  readonly leaf_object_classes?: readonly string[] | null;
  /** Those of these names. */
  readonly object_ids?: readonly string[] | null;
  /** Ops alone, or all but ops. */
  readonly is_op?: boolean | null;
  /** The newest version of each. */
  readonly latest_only?: boolean | null;
};

export type WeaveObjectOrder = {
  /** What goes first: names or times. */
  readonly field: "object_id" | "created_at";
  /** Rising or falling. */
  readonly direction: "asc" | "desc";
};

export type WeaveObjectQueryReq = {
  /** `<entity>/<project>`. */
  readonly project_id: string;
  /** Which of them; all unless given. */
  readonly filter?: WeaveObjectFilter | null;
  /** Most objects of the answer, which has up to 4 MiB of them, but at least one. Default: `100`. */
  readonly limit?: number | null;
  /** How many are passed over. Default: `0`. */
  readonly offset?: number | null;
  /** By name, then version, unless given. */
  readonly sort_by?: readonly WeaveObjectOrder[] | null;
  /** Leaves the contents out. Default: `false`. */
  readonly metadata_only?: boolean | null;
};

export type WeaveObjectReadReq = {
  /** `<entity>/<project>`. */
  readonly project_id: string;
  /** The object's name. */
  readonly object_id: string;
  /** A digest, `v0` and so on, or `latest`. */
  readonly digest: string;
  /** Leaves the content out. Default: `false`. */
  readonly metadata_only?: boolean | null;
};

export type WeaveRefsReadReq = {
  /** Of objects, ops and tables, and of parts of objects. */
  readonly refs: readonly string[];
};

export type WeaveRow = {
  readonly digest: string;
  /** The row. */
  readonly val: unknown;
  /** Its place in the table, from 0. */
  readonly original_index: number;
};

export type WeaveRowFilter = {
  /** Those rows alone. */
  readonly row_digests?: readonly string[] | null;
};

export type WeaveServerInfo = {
  /** Every client is taken. */
  readonly min_required_weave_python_version: string;
  /** The version of this server. */
  readonly trace_server_version: string;
};

export type WeaveStartedCall = {
  readonly id: string;
  readonly trace_id: string;
};

export type WeaveTableCreateReq = {
  /** What is published. */
  readonly table: WeaveTableDraft;
};

/** What is published. */
export type WeaveTableDraft = {
  /** `<entity>/<project>`. */
  readonly project_id: string;
  /** In their order; a body has at most 32 MiB. */
  readonly rows: readonly { readonly [name: string]: any }[];
  /** The digest that the client has computed; 409 where it is another. */
  readonly expected_digest?: string | null;
  /** The server fills it. */
  readonly wb_user_id?: null;
};

export type WeaveTableOfDigestsReq = {
  /** `<entity>/<project>`. */
  readonly project_id: string;
  /** Of rows that other tables of the project have, in their order. */
  readonly row_digests: readonly string[];
  /** The digest that the client has computed; 409 where it is another. */
  readonly expected_digest?: string | null;
};

export type WeaveTableQueryReq = {
  /** `<entity>/<project>`. */
  readonly project_id: string;
  /** What names the content. */
  readonly digest: string;
  /** Which rows; all unless given. */
  readonly filter?: WeaveRowFilter | null;
  /** Most rows of the answer, which has up to 4 MiB of them, but at least one. Default: `1000`. */
  readonly limit?: number | null;
  /** How many are passed over. Default: `0`. */
  readonly offset?: number | null;
};

export type WeaveTableStatsReq = {
  /** `<entity>/<project>`. */
  readonly project_id: string;
  /** What names the content. */
  readonly digest: string;
};

export type Webhook = {
  readonly id: string;
  readonly entity: string;
  readonly url: string;
  readonly events: readonly ("feedback.created" | "feedback.replaced" | "feedback.purged" | "training_ended" | "training_failed")[];
  readonly project_id: string | null;
  readonly feedback_type: string | null;
  readonly records_max: number;
  readonly description: string | null;
  readonly created_at: string;
  readonly enabled: boolean;
  readonly disabled_at: string | null;
  /** Why nothing is sent. */
  readonly disabled_reason: string | null;
  /** The first attempt that failed behind the last one that did not; null where that was the last. */
  readonly failing_since: string | null;
  /** Deliveries that are not over. */
  readonly pending: number;
};

export type WebhookChange = {
  /** Where events are sent by POST; one of the places that the operator allows. */
  readonly url?: string;
  /** What is sent. */
  readonly events?: readonly ("feedback.created" | "feedback.replaced" | "feedback.purged" | "training_ended" | "training_failed")[];
  /** Only events of this `<entity>/<project>`. */
  readonly project_id?: string | null;
  /** Of feedback, only events of records of this type. */
  readonly feedback_type?: string | null;
  /** Most records of one event. */
  readonly records_max?: number;
  /** What it is for, for people. */
  readonly description?: string | null;
  /** False sends nothing any more; true sends again what comes from now on. */
  readonly enabled?: boolean;
};

export type WebhookCreate = {
  /** Where events are sent by POST; one of the places that the operator allows. */
  readonly url: string;
  /** What is sent. */
  readonly events: readonly ("feedback.created" | "feedback.replaced" | "feedback.purged" | "training_ended" | "training_failed")[];
  /** Only events of this `<entity>/<project>`. */
  readonly project_id?: string | null;
  /** Of feedback, only events of records of this type. */
  readonly feedback_type?: string | null;
  /**
   * Most records of one event: those that were written together come together, up to this and a megabyte.
   * Default: `100`.
   */
  readonly records_max?: number | null;
  /** What it is for, for people. */
  readonly description?: string | null;
  /** What requests are signed with: `whsec_` and the base64 of 24 to 64 bytes. Default: a fresh one. */
  readonly secret?: string | null;
  /** Whose events; another than the key's for admins. */
  readonly entity?: string | null;
};

export type WebhookDelivery = {
  /** What receivers get as `webhook-id`, at each attempt. */
  readonly id: string;
  readonly type: "feedback.created" | "feedback.replaced" | "feedback.purged" | "training_ended" | "training_failed";
  /** What it is about, by ids. */
  readonly subject: { readonly [name: string]: unknown };
  readonly state: "pending" | "delivered" | "failed";
  readonly created_at: string;
  readonly ended_at: string | null;
  /** Null once it is over. */
  readonly next_attempt_at: string | null;
  readonly attempt_count: number;
  /** The latest twenty, the oldest of them first. */
  readonly attempts: readonly {
    readonly at: string;
    readonly duration_ms: number;
    /** Null where nothing was answered. */
    readonly status: number | null;
    /** Why it does not count as taken; null where it does. */
    readonly error: string | null;
    /** The first bytes of the answer. */
    readonly answer: string;
  }[];
};

export type WebhookReplay = {
  /** The one to send again, whether or not it was taken. */
  readonly delivery_id?: string | null;
  /** Or all that failed then or later. */
  readonly failed_since?: string | null;
};

/** Every operation, by its method and path. */
export interface Operations {
  /** Say whether the server can serve. */
  readonly "GET /health": {
    readonly answer: Health;
  };
  /** Say whether the server can serve. */
  readonly "GET /v1/health": {
    readonly answer: Health;
  };
  /** Say whether the server can serve. */
  readonly "GET /ping": {
    readonly answer: Health;
  };
  /** Say how each part of the server is. */
  readonly "GET /v1/system-check": {
    readonly answer: SystemCheck;
  };
  /** Say the server's version. */
  readonly "GET /version": {
    readonly answer: {
      readonly version: string;
    };
  };
  /** Say how much the server has to do. */
  readonly "GET /load": {
    readonly answer: {
      /** Requests with a key that are being answered. */
      readonly server_load: number;
    };
  };
  /** Show the metrics. */
  readonly "GET /metrics": {
    readonly text: true;
  };
  /** Give a prompt that is held to another server. */
  readonly "POST /v1/kv-transfers": {
    readonly body: TransferRequest;
    readonly bytes: true;
  };
  /** Create a chat completion. */
  readonly "POST /v1/chat/completions": {
    readonly body: ChatCompletionRequest;
    readonly answer: ChatCompletion;
    readonly events: ChatCompletionChunk;
  };
  /** List stored chat completions. */
  readonly "GET /v1/chat/completions": {
    readonly query?: {
      /** Id of the last item of the page before. */
      readonly after?: string;
      /** Most items of the page. Default: `20`. */
      readonly limit?: number;
      /** The oldest first, or the newest; each list has its own default. */
      readonly order?: "asc" | "desc";
      /** Only of this trained model. */
      readonly model?: string;
      /** As `metadata[name]=text`, and all of several: only those whose request said so. */
      readonly metadata?: string;
    };
    readonly answer: Page<StoredChatCompletion>;
  };
  /** Create a chat completion. */
  readonly "POST /v1/chat/completions/": {
    readonly body: ChatCompletionRequest;
    readonly answer: ChatCompletion;
    readonly events: ChatCompletionChunk;
  };
  /** Say which tokens a text or a conversation is. */
  readonly "POST /tokenize": {
    readonly body: TokenizeRequest;
    readonly answer: Tokenized;
  };
  /** Say which text tokens are. */
  readonly "POST /detokenize": {
    readonly body: DetokenizeRequest;
    readonly answer: Detokenized;
  };
  /** Create a text completion. */
  readonly "POST /v1/completions": {
    readonly body: CompletionRequest;
    readonly answer: Completion;
    readonly events: CompletionChunk;
  };
  /** Create a response. */
  readonly "POST /v1/responses": {
    readonly body: ResponseRequest;
    readonly answer: ResponseObject;
    readonly events: ResponseEvent;
  };
  /** Create a message. */
  readonly "POST /v1/messages": {
    readonly body: AnthropicMessageRequest;
    readonly answer: AnthropicMessage;
    readonly events: AnthropicEvent;
  };
  /** Count the tokens of a message's prompt. */
  readonly "POST /v1/messages/count_tokens": {
    readonly body: AnthropicCountRequest;
    readonly answer: AnthropicTokenCount;
  };
  /** Create embeddings. */
  readonly "POST /v1/embeddings": {
    readonly body: EmbeddingRequest;
    readonly answer: Embeddings;
  };
  /** Say whether a constraint is served exactly, and whether values could be an answer. */
  readonly "POST /v1/preview/structured-outputs/check": {
    readonly body: ConstraintCheckRequest;
    readonly answer: ConstraintCheck;
  };
  /** List every name that can be chatted with. */
  readonly "GET /v1/models": {
    readonly answer: {
      readonly object: "list";
      readonly data: readonly ServedModel[];
    };
  };
  /** Say what a name stands for. */
  readonly "GET /v1/models/{model}": {
    readonly path: {
      /** Any name that a chat takes as its model, slashes and versions included. */
      readonly model: string;
    };
    readonly answer: ServedModel;
  };
  /** List the base models. */
  readonly "GET /v1/preview/base-models": {
    readonly answer: readonly string[];
  };
  /** Say whose key this is. */
  readonly "GET /v1/preview/key": {
    readonly answer: OwnKey;
  };
  /** Create a key. */
  readonly "POST /v1/preview/keys": {
    readonly body: KeyCreate;
    readonly answer: NewKey;
  };
  /** List keys. */
  readonly "GET /v1/preview/keys": {
    readonly query?: {
      /** Id of the last item of the page before. */
      readonly after?: string;
      /** Most items of the page. Default: `20`. */
      readonly limit?: number;
      /** The oldest first, or the newest; each list has its own default. */
      readonly order?: "asc" | "desc";
      /** Only those of this entity. */
      readonly entity?: string;
    };
    readonly answer: Page<Key>;
  };
  /** Read a key. */
  readonly "GET /v1/preview/keys/{key_id}": {
    readonly path: {
      /** The key's id. */
      readonly key_id: string;
    };
    readonly answer: Key;
  };
  /** Change a key. */
  readonly "POST /v1/preview/keys/{key_id}": {
    readonly path: {
      /** The key's id. */
      readonly key_id: string;
    };
    readonly body: KeyChange;
    readonly answer: Key;
  };
  /** Revoke a key. */
  readonly "DELETE /v1/preview/keys/{key_id}": {
    readonly path: {
      /** The key's id. */
      readonly key_id: string;
    };
    readonly answer: Key;
  };
  /** Give a key another secret. */
  readonly "POST /v1/preview/keys/{key_id}/rotate": {
    readonly path: {
      /** The key's id. */
      readonly key_id: string;
    };
    readonly body: KeyRotation;
    readonly answer: NewKey;
  };
  /** Read an entity's limits. */
  readonly "GET /v1/preview/entities/{entity}/limits": {
    readonly path: {
      /** The entity's name. */
      readonly entity: string;
    };
    readonly answer: EntityLimits;
  };
  /** Change an entity's limits. */
  readonly "POST /v1/preview/entities/{entity}/limits": {
    readonly path: {
      /** The entity's name. */
      readonly entity: string;
    };
    readonly body: EntityLimitsChange;
    readonly answer: EntityLimits;
  };
  /** Read what keys have used. */
  readonly "GET /v1/preview/usage": {
    readonly query?: {
      /** The first day, `YYYY-MM-DD` in UTC. */
      readonly from?: string;
      /** The last day, which is included. */
      readonly to?: string;
      /** Only what this key used. */
      readonly key_id?: string;
      /** Only of this model: `<entity>/<project>/<name>`, or a base model's name. */
      readonly model?: string;
      /** Only what this entity's keys used; another than the key's for admins. */
      readonly entity?: string;
      /** Id of the last item of the page before. */
      readonly after?: string;
      /** Most items of the page. Default: `20`. */
      readonly limit?: number;
      /** The oldest first, or the newest; each list has its own default. */
      readonly order?: "asc" | "desc";
    };
    readonly answer: Page<Usage>;
  };
  /** Export what keys have used as CSV. */
  readonly "GET /v1/preview/usage/export": {
    readonly query?: {
      /** The first day, `YYYY-MM-DD` in UTC. */
      readonly from?: string;
      /** The last day, which is included. */
      readonly to?: string;
      /** Only what this key used. */
      readonly key_id?: string;
      /** Only of this model: `<entity>/<project>/<name>`, or a base model's name. */
      readonly model?: string;
      /** Only what this entity's keys used; another than the key's for admins. */
      readonly entity?: string;
    };
    readonly bytes: true;
  };
  /** Read what there is, what stays, and what was removed. */
  readonly "GET /v1/preview/retention": {
    readonly query?: {
      /** Only this entity's; another than the key's for admins. */
      readonly entity?: string;
    };
    readonly answer: Retention;
  };
  /** Remove at once what does not stay. */
  readonly "POST /v1/preview/retention/sweep": {
    readonly body: RetentionSweepCreate;
    readonly answer: RetentionSweep;
  };
  /** Read the newest lines of the log, or watch them. */
  readonly "GET /v1/preview/logs": {
    readonly query?: {
      /** Id of the last item of the page before. */
      readonly after?: string;
      /** Most items of the page. Default: `20`. */
      readonly limit?: number;
      /** The oldest first, or the newest; each list has its own default. */
      readonly order?: "asc" | "desc";
      /** Lines of this level and above. Default: `"debug"`. */
      readonly level?: "debug" | "info" | "warn" | "error";
    };
    readonly answer: Page<LogLine>;
    readonly events: LogLine;
  };
  /** Register a model to train. */
  readonly "POST /v1/preview/models": {
    readonly body: ModelCreate;
    readonly answer: ModelObject;
  };
  /** List models. */
  readonly "GET /v1/preview/models": {
    readonly query?: {
      /** Id of the last item of the page before. */
      readonly after?: string;
      /** Most items of the page. Default: `20`. */
      readonly limit?: number;
      /** The oldest first, or the newest; each list has its own default. */
      readonly order?: "asc" | "desc";
      /** Only this entity's. */
      readonly entity?: string;
      /** Only this project's. */
      readonly project?: string;
      /** Only those of this name. */
      readonly name?: string;
    };
    readonly answer: Page<ModelObject>;
  };
  /** Read a model. */
  readonly "GET /v1/preview/models/{model_id}": {
    readonly path: {
      /** The model's id. */
      readonly model_id: string;
    };
    readonly answer: ModelObject;
  };
  /** Delete a model with everything of it. */
  readonly "DELETE /v1/preview/models/{model_id}": {
    readonly path: {
      /** The model's id. */
      readonly model_id: string;
    };
    readonly answer: {
      readonly model_id: string;
      readonly deleted_checkpoints: number;
      readonly deleted_run: boolean;
    };
  };
  /** Accept that a model's base has other weights now. */
  readonly "POST /v1/preview/models/{model_id}/accept-base": {
    readonly path: {
      /** The model's id. */
      readonly model_id: string;
    };
    readonly answer: {
      readonly model_id: string;
      readonly base_model: string;
      /** SHA-256 of its weights now. */
      readonly base_hash: string;
      /** The versions that were trained over others. */
      readonly accepted_steps: readonly number[];
    };
  };
  /** List a model's versions. */
  readonly "GET /v1/preview/models/{model_id}/checkpoints": {
    readonly path: {
      /** The model's id. */
      readonly model_id: string;
    };
    readonly query?: {
      /** Id of the last item of the page before. */
      readonly after?: string;
      /** Most items of the page. Default: `20`. */
      readonly limit?: number;
      /** The oldest first, or the newest; each list has its own default. */
      readonly order?: "asc" | "desc";
    };
    readonly answer: Page<Checkpoint>;
  };
  /** Delete versions of a model. */
  readonly "DELETE /v1/preview/models/{model_id}/checkpoints": {
    readonly path: {
      /** The model's id. */
      readonly model_id: string;
    };
    readonly body: CheckpointDelete;
    readonly answer: {
      readonly deleted_count: number;
      readonly not_found_steps: readonly number[];
      /** They stay until they are unpinned. */
      readonly pinned_steps: readonly number[];
      /** They stay while a training job starts from them; delete them when it has ended. */
      readonly in_use_steps: readonly number[];
    };
  };
  /** Import an adapter as the next version of a model. */
  readonly "POST /v1/preview/models/{model_id}/checkpoints": {
    readonly path: {
      /** The model's id. */
      readonly model_id: string;
    };
    readonly upload: true;
    readonly answer: Checkpoint;
  };
  /** Read a version of a model. */
  readonly "GET /v1/preview/models/{model_id}/checkpoints/{step}": {
    readonly path: {
      /** The model's id. */
      readonly model_id: string;
      /** The version's step. */
      readonly step: string;
    };
    readonly answer: Checkpoint;
  };
  /** Pin a version, so that it is kept until it is unpinned. */
  readonly "PUT /v1/preview/models/{model_id}/checkpoints/{step}/pin": {
    readonly path: {
      /** The model's id. */
      readonly model_id: string;
      /** The version's step. */
      readonly step: string;
    };
    readonly answer: Checkpoint;
  };
  /** Unpin a version, so that it may be deleted. */
  readonly "DELETE /v1/preview/models/{model_id}/checkpoints/{step}/pin": {
    readonly path: {
      /** The model's id. */
      readonly model_id: string;
      /** The version's step. */
      readonly step: string;
    };
    readonly answer: Checkpoint;
  };
  /** Export a version as files that other programs load. */
  readonly "GET /v1/preview/models/{model_id}/checkpoints/{step}/export": {
    readonly path: {
      /** The model's id. */
      readonly model_id: string;
      /** The version's step. */
      readonly step: string;
    };
    readonly query: {
      /**
       * `peft`: adapter_config.json and adapter_model.safetensors. `merged`: the base model's folder with the
       * adapter in its weights.
       */
      readonly format: "peft" | "merged";
    };
    readonly bytes: true;
  };
  /** Log trajectories and calculate metrics. */
  readonly "POST /v1/preview/models/{model_id}/log": {
    readonly path: {
      /** The model's id. */
      readonly model_id: string;
    };
    readonly body: TrajectoryLog;
    readonly answer: Logged;
  };
  /** List logged trajectories. */
  readonly "GET /v1/preview/models/{model_id}/trajectories": {
    readonly path: {
      /** The model's id. */
      readonly model_id: string;
    };
    readonly query?: {
      /** Id of the last item of the page before. */
      readonly after?: string;
      /** Most items of the page. Default: `20`. */
      readonly limit?: number;
      /** The oldest first, or the newest; each list has its own default. */
      readonly order?: "asc" | "desc";
      /** Only logs under this split. */
      readonly split?: string;
    };
    readonly answer: Page<LoggedTrajectories>;
  };
  /** List a model's metrics over time. */
  readonly "GET /v1/preview/models/{model_id}/metrics": {
    readonly path: {
      /** The model's id. */
      readonly model_id: string;
    };
    readonly query?: {
      /** Id of the last item of the page before. */
      readonly after?: string;
      /** Most items of the page. Default: `20`. */
      readonly limit?: number;
      /** The oldest first, or the newest; each list has its own default. */
      readonly order?: "asc" | "desc";
      /** Only logs under this split. */
      readonly split?: string;
    };
    readonly answer: Page<LoggedMetrics>;
  };
  /** List outlines of stored trajectories. */
  readonly "GET /v1/preview/models/{model_id}/trajectories/outlines": {
    readonly path: {
      /** The model's id. */
      readonly model_id: string;
    };
    readonly query?: {
      /** Id of the last item of the page before. */
      readonly after?: string;
      /** Most items of the page. Default: `20`. */
      readonly limit?: number;
      /** The oldest first, or the newest; each list has its own default. */
      readonly order?: "asc" | "desc";
      /** Only those that were logged, or those that training jobs were sent. */
      readonly source?: "log" | "job";
      /** Only those under this split; jobs count as train. */
      readonly split?: string;
      /** Only of this version: the newest when it was logged, or the one that the job starts from. */
      readonly step?: number;
      /** Only what was stored then or later. */
      readonly recorded_from?: string;
      /** Only what was stored before. */
      readonly recorded_before?: string;
      /** Only rewards of at least this. */
      readonly reward_min?: number;
      /** Only rewards of at most this. */
      readonly reward_max?: number;
    };
    readonly answer: Page<TrajectoryOutline>;
  };
  /** Count stored trajectories. */
  readonly "GET /v1/preview/models/{model_id}/trajectories/counts": {
    readonly path: {
      /** The model's id. */
      readonly model_id: string;
    };
    readonly query?: {
      /** Only of this version: the newest when it was logged, or the one that the job starts from. */
      readonly step?: number;
    };
    readonly answer: {
      readonly object: "list";
      /** The most first; at most a hundred. */
      readonly data: readonly TrajectoryCount[];
    };
  };
  /** Show a stored trajectory. */
  readonly "GET /v1/preview/models/{model_id}/trajectories/{number}": {
    readonly path: {
      /** The model's id. */
      readonly model_id: string;
      /** The `id` that the outlines name it by. */
      readonly number: string;
    };
    readonly answer: StoredTrajectory;
  };
  /** List stored trajectories one by one. */
  readonly "GET /v1/preview/models/{model_id}/trajectories/rows": {
    readonly path: {
      /** The model's id. */
      readonly model_id: string;
    };
    readonly query?: {
      /** Trajectories that were logged, or those that training jobs were sent. Default: `"logs"`. */
      readonly source?: "logs" | "jobs";
      /** Only this log's. */
      readonly log_id?: string;
      /** Only this training job's. */
      readonly job_id?: string;
      /** Only logs under this split; jobs count as train. */
      readonly split?: string;
      /** Only of this version: the newest when it was logged, or the one that the job starts from. */
      readonly step?: number;
      /** Only what was stored then or later. */
      readonly recorded_from?: string;
      /** Only what was stored before. */
      readonly recorded_before?: string;
      /** Only rewards of at least this. */
      readonly reward_min?: number;
      /** Only rewards of at most this. */
      readonly reward_max?: number;
      /**
       * `key=value`, and all of several: only trajectories whose metadata, or whose group's, has the value,
       * written as text or JSON.
       */
      readonly metadata?: readonly string[];
      /** Id of the last item of the page before. */
      readonly after?: string;
      /** Most items of the page. Default: `20`. */
      readonly limit?: number;
    };
    readonly answer: Page<StoredTrajectory>;
  };
  /** Export stored trajectories as a file. */
  readonly "GET /v1/preview/models/{model_id}/trajectories/export": {
    readonly path: {
      /** The model's id. */
      readonly model_id: string;
    };
    readonly query: {
      /** Trajectories that were logged, or those that training jobs were sent. Default: `"logs"`. */
      readonly source?: "logs" | "jobs";
      /** Only this log's. */
      readonly log_id?: string;
      /** Only this training job's. */
      readonly job_id?: string;
      /** Only logs under this split; jobs count as train. */
      readonly split?: string;
      /** Only of this version: the newest when it was logged, or the one that the job starts from. */
      readonly step?: number;
      /** Only what was stored then or later. */
      readonly recorded_from?: string;
      /** Only what was stored before. */
      readonly recorded_before?: string;
      /** Only rewards of at least this. */
      readonly reward_min?: number;
      /** Only rewards of at most this. */
      readonly reward_max?: number;
      /**
       * `key=value`, and all of several: only trajectories whose metadata, or whose group's, has the value,
       * written as text or JSON.
       */
      readonly metadata?: readonly string[];
      /**
       * Trajectories as a JSON object a line, or as an Apache Parquet file; or `groups`: a JSON object a line
       * for each group, with all that it holds beside its trajectories.
       */
      readonly format: "jsonl" | "parquet" | "groups";
    };
    readonly bytes: true;
  };
  /** List recorded completions. */
  readonly "GET /v1/preview/completions": {
    readonly query?: {
      /** Id of the last item of the page before. */
      readonly after?: string;
      /** Most items of the page. Default: `20`. */
      readonly limit?: number;
      /** The oldest first, or the newest; each list has its own default. */
      readonly order?: "asc" | "desc";
      /** `<entity>/<project>`. */
      readonly project?: string;
      /**
       * Only of this trained model, by its id or a name as in a chat request; with `:step3` only of that
       * version.
       */
      readonly model?: string;
      /** Only of this version. */
      readonly step?: number;
      /** Only what ended then or later. */
      readonly since?: string;
      /** Only what ended before. */
      readonly until?: string;
      /** Only the answer of this request. */
      readonly request_id?: string;
      /**
       * `any`: only what there is feedback on; `none`: only what there is none on; else a type of feedback,
       * of which there is some.
       */
      readonly feedback?: string;
    };
    readonly answer: Page<RecordedOutline>;
  };
  /** Read a recorded completion. */
  readonly "GET /v1/preview/completions/{request_id}": {
    readonly path: {
      /** Of the answer, with or without `chatcmpl-` before it. */
      readonly request_id: string;
    };
    readonly query?: {
      /** `<entity>/<project>`. */
      readonly project?: string;
    };
    readonly answer: RecordedCompletion;
  };
  /** Delete a recorded completion. */
  readonly "DELETE /v1/preview/completions/{request_id}": {
    readonly path: {
      /** Of the answer, with or without `chatcmpl-` before it. */
      readonly request_id: string;
    };
    readonly query?: {
      /** `<entity>/<project>`. */
      readonly project?: string;
    };
    readonly answer: RecordedDeletion;
  };
  /** Read a stored chat completion. */
  readonly "GET /v1/chat/completions/{request_id}": {
    readonly path: {
      /** The answer's id. */
      readonly request_id: string;
    };
    readonly query?: {
      /** `<entity>/<project>`. */
      readonly project?: string;
    };
    readonly answer: StoredChatCompletion;
  };
  /** Delete a stored chat completion. */
  readonly "DELETE /v1/chat/completions/{request_id}": {
    readonly path: {
      /** The answer's id. */
      readonly request_id: string;
    };
    readonly query?: {
      /** `<entity>/<project>`. */
      readonly project?: string;
    };
    readonly answer: RecordedDeletion;
  };
  /** List the messages of a stored chat completion. */
  readonly "GET /v1/chat/completions/{request_id}/messages": {
    readonly path: {
      /** The answer's id. */
      readonly request_id: string;
    };
    readonly query?: {
      /** Id of the last item of the page before. */
      readonly after?: string;
      /** Most items of the page. Default: `20`. */
      readonly limit?: number;
      /** The oldest first, or the newest; each list has its own default. */
      readonly order?: "asc" | "desc";
    };
    readonly answer: Page<StoredMessage>;
  };
  /** Create a training job. */
  readonly "POST /v1/preview/training-jobs": {
    readonly body: TrainingJobCreate;
    readonly answer: {
      readonly id: string;
    };
  };
  /** List training jobs. */
  readonly "GET /v1/preview/training-jobs": {
    readonly query?: {
      /** Id of the last item of the page before. */
      readonly after?: string;
      /** Most items of the page. Default: `20`. */
      readonly limit?: number;
      /** The oldest first, or the newest; each list has its own default. */
      readonly order?: "asc" | "desc";
      /** Only this model's. */
      readonly model_id?: string;
      /** The same by any name that a chat may use; not together with `model_id`. */
      readonly model?: string;
      /** Only those of this kind. */
      readonly kind?: "rl" | "sft" | "preference";
      /** Only those in this state. */
      readonly state?: "queued" | "running" | "succeeded" | "failed" | "cancelled";
    };
    readonly answer: Page<TrainingJob>;
  };
  /** Read a training job. */
  readonly "GET /v1/preview/training-jobs/{job_id}": {
    readonly path: {
      /** The job's id. */
      readonly job_id: string;
    };
    readonly answer: TrainingJob;
  };
  /** Cancel a training job. */
  readonly "POST /v1/preview/training-jobs/{job_id}/cancel": {
    readonly path: {
      /** The job's id. */
      readonly job_id: string;
    };
    readonly answer: TrainingJob;
  };
  /** Replay a training job. */
  readonly "POST /v1/preview/training-jobs/{job_id}/replay": {
    readonly path: {
      /** The job's id. */
      readonly job_id: string;
    };
    readonly answer: {
      readonly id: string;
    };
  };
  /** Try a training job again. */
  readonly "POST /v1/preview/training-jobs/{job_id}/retry": {
    readonly path: {
      /** The job's id. */
      readonly job_id: string;
    };
    readonly answer: {
      readonly id: string;
    };
  };
  /** Page through a job's events, or watch them. */
  readonly "GET /v1/preview/training-jobs/{job_id}/events": {
    readonly path: {
      /** The job's id. */
      readonly job_id: string;
    };
    readonly query?: {
      /** Id of the last item of the page before. */
      readonly after?: string;
      /** Most items of the page. Default: `20`. */
      readonly limit?: number;
      /** The oldest first, or the newest; each list has its own default. */
      readonly order?: "asc" | "desc";
    };
    readonly answer: Page<TrainingEvent>;
    readonly events: TrainingEvent;
  };
  /** Create a training job from feedback. */
  readonly "POST /v1/preview/training-jobs/from-feedback": {
    readonly body: FeedbackJobCreate;
    readonly answer: FeedbackJob;
  };
  /** List the feedback behind a version. */
  readonly "GET /v1/preview/models/{model_id}/checkpoints/{step}/sources": {
    readonly path: {
      /** The model's id. */
      readonly model_id: string;
      /** The version's step. */
      readonly step: string;
    };
    readonly query?: {
      /** Id of the last item of the page before. */
      readonly after?: string;
      /** Most items of the page. Default: `20`. */
      readonly limit?: number;
      /** The oldest first, or the newest; each list has its own default. */
      readonly order?: "asc" | "desc";
    };
    readonly answer: Page<TrainingSource>;
  };
  /** Create a preference training job from feedback. */
  readonly "POST /v1/preview/preference-training-jobs/from-feedback": {
    readonly body: FeedbackPreferenceJobCreate;
    readonly answer: FeedbackPreferenceJob;
  };
  /** Keep a reward rule. */
  readonly "POST /v1/preview/reward-rules": {
    readonly body: RewardRuleCreate;
    readonly answer: RewardRule;
  };
  /** List reward rules. */
  readonly "GET /v1/preview/reward-rules": {
    readonly query?: {
      /** Id of the last item of the page before. */
      readonly after?: string;
      /** Most items of the page. Default: `20`. */
      readonly limit?: number;
      /** The oldest first, or the newest; each list has its own default. */
      readonly order?: "asc" | "desc";
      /** Only this entity's. */
      readonly entity?: string;
      /** Only this project's. */
      readonly project?: string;
      /** Only standing ones of this model. */
      readonly model_id?: string;
    };
    readonly answer: Page<RewardRule>;
  };
  /** Read a reward rule. */
  readonly "GET /v1/preview/reward-rules/{rule_id}": {
    readonly path: {
      /** The rule's id. */
      readonly rule_id: string;
    };
    readonly answer: RewardRule;
  };
  /** Change a reward rule. */
  readonly "PUT /v1/preview/reward-rules/{rule_id}": {
    readonly path: {
      /** The rule's id. */
      readonly rule_id: string;
    };
    readonly body: RewardRuleChange;
    readonly answer: RewardRule;
  };
  /** Delete a reward rule. */
  readonly "DELETE /v1/preview/reward-rules/{rule_id}": {
    readonly path: {
      /** The rule's id. */
      readonly rule_id: string;
    };
    readonly answer: {
      readonly id: string;
      readonly deleted: boolean;
    };
  };
  /** Pause a standing rule. */
  readonly "POST /v1/preview/reward-rules/{rule_id}/pause": {
    readonly path: {
      /** The rule's id. */
      readonly rule_id: string;
    };
    readonly answer: RewardRule;
  };
  /** Resume a standing rule. */
  readonly "POST /v1/preview/reward-rules/{rule_id}/resume": {
    readonly path: {
      /** The rule's id. */
      readonly rule_id: string;
    };
    readonly answer: RewardRule;
  };
  /** Create a supervised fine-tuning job. */
  readonly "POST /v1/preview/sft-training-jobs": {
    readonly body: SupervisedJobCreate;
    readonly answer: {
      readonly id: string;
    };
  };
  /** Create a preference training job. */
  readonly "POST /v1/preview/preference-training-jobs": {
    readonly body: PreferenceJobCreate;
    readonly answer: {
      readonly id: string;
    };
  };
  /** Delete all traces of a project. */
  readonly "DELETE /v1/preview/projects/{entity}/{project}/traces": {
    readonly path: {
      /** The project's entity. */
      readonly entity: string;
      /** The project. */
      readonly project: string;
    };
    readonly answer: { readonly [name: string]: unknown };
  };
  /** Upload a file. */
  readonly "POST /v1/files": {
    readonly form: true;
    readonly answer: FileObject;
  };
  /** List files. */
  readonly "GET /v1/files": {
    readonly query?: {
      /** Id of the last item of the page before. */
      readonly after?: string;
      /** Most items of the page. Default: `20`. */
      readonly limit?: number;
      /** The oldest first, or the newest; each list has its own default. */
      readonly order?: "asc" | "desc";
      /** Only files uploaded for this. */
      readonly purpose?: string;
    };
    readonly answer: Page<FileObject>;
  };
  /** Read what is known of a file. */
  readonly "GET /v1/files/{file_id}": {
    readonly path: {
      /** The file's id. */
      readonly file_id: string;
    };
    readonly answer: FileObject;
  };
  /** Delete a file. */
  readonly "DELETE /v1/files/{file_id}": {
    readonly path: {
      /** The file's id. */
      readonly file_id: string;
    };
    readonly answer: {
      readonly id: string;
      readonly object: "file";
      readonly deleted: boolean;
    };
  };
  /** Read a file. */
  readonly "GET /v1/files/{file_id}/content": {
    readonly path: {
      /** The file's id. */
      readonly file_id: string;
    };
    readonly bytes: true;
  };
  /** Create a webhook. */
  readonly "POST /v1/preview/webhooks": {
    readonly body: WebhookCreate;
    readonly answer: NewWebhook;
  };
  /** List webhooks. */
  readonly "GET /v1/preview/webhooks": {
    readonly query?: {
      /** Id of the last item of the page before. */
      readonly after?: string;
      /** Most items of the page. Default: `20`. */
      readonly limit?: number;
      /** The oldest first, or the newest; each list has its own default. */
      readonly order?: "asc" | "desc";
    };
    readonly answer: Page<Webhook>;
  };
  /** Read a webhook. */
  readonly "GET /v1/preview/webhooks/{webhook_id}": {
    readonly path: {
      /** The webhook's id. */
      readonly webhook_id: string;
    };
    readonly answer: Webhook;
  };
  /** Change a webhook. */
  readonly "POST /v1/preview/webhooks/{webhook_id}": {
    readonly path: {
      /** The webhook's id. */
      readonly webhook_id: string;
    };
    readonly body: WebhookChange;
    readonly answer: Webhook;
  };
  /** Delete a webhook with its deliveries. */
  readonly "DELETE /v1/preview/webhooks/{webhook_id}": {
    readonly path: {
      /** The webhook's id. */
      readonly webhook_id: string;
    };
    readonly answer: {
      readonly id: string;
      readonly deleted: boolean;
    };
  };
  /** List the deliveries of a webhook. */
  readonly "GET /v1/preview/webhooks/{webhook_id}/deliveries": {
    readonly path: {
      /** The webhook's id. */
      readonly webhook_id: string;
    };
    readonly query?: {
      /** Id of the last item of the page before. */
      readonly after?: string;
      /** Most items of the page. Default: `20`. */
      readonly limit?: number;
      /** The oldest first, or the newest; each list has its own default. */
      readonly order?: "asc" | "desc";
      /** Only those in this state. */
      readonly state?: "pending" | "delivered" | "failed";
    };
    readonly answer: Page<WebhookDelivery>;
  };
  /** Send deliveries of a webhook again. */
  readonly "POST /v1/preview/webhooks/{webhook_id}/replay": {
    readonly path: {
      /** The webhook's id. */
      readonly webhook_id: string;
    };
    readonly body: WebhookReplay;
    readonly answer: {
      /** Deliveries that are sent again. */
      readonly replayed: number;
      /** There may be more that failed; ask once more. */
      readonly has_more: boolean;
    };
  };
  /** Create feedback records. */
  readonly "POST /feedback/batch/create": {
    readonly body: FeedbackBatchCreateReq;
    readonly answer: {
      /** In the order of the batch. */
      readonly res: readonly Feedback[];
    };
  };
  /** Create a feedback record. */
  readonly "POST /feedback/create": {
    readonly body: FeedbackCreateReq;
    readonly answer: Feedback;
  };
  /** Replace a feedback record. */
  readonly "POST /feedback/replace": {
    readonly body: FeedbackReplaceReq;
    readonly answer: Feedback;
  };
  /** Query feedback. */
  readonly "POST /feedback/query": {
    readonly body: FeedbackQueryReq;
    readonly answer: {
      /** In the order asked for; the oldest first unless given. */
      readonly result: readonly (FeedbackRecord | { readonly [name: string]: unknown })[];
      /** Of the records that the query is about. */
      readonly total_count: number;
    };
  };
  /** Remove feedback records. */
  readonly "POST /feedback/purge": {
    readonly body: FeedbackPurgeReq;
    readonly answer: { readonly [name: string]: unknown };
  };
  /** List what a record said before. */
  readonly "POST /feedback/history": {
    readonly body: FeedbackHistoryReq;
    readonly answer: {
      /** What the record said before, the oldest first. */
      readonly result: readonly FeedbackRevision[];
      readonly has_more: boolean;
    };
  };
  /** Export feedback as a file. */
  readonly "POST /feedback/export": {
    readonly body: FeedbackExportReq;
    readonly bytes: true;
  };
  /** Statistics over feedback. */
  readonly "POST /feedback/stats": {
    readonly body: FeedbackStatsReq;
    readonly answer: FeedbackStats;
  };
  /** Make an annotation queue. */
  readonly "POST /annotation_queues": {
    readonly body: AnnotationQueueCreateReq;
    readonly answer: {
      readonly id: string;
    };
  };
  /** List annotation queues. */
  readonly "POST /annotation_queues/query": {
    readonly body: AnnotationQueueQueryReq;
    readonly bytes: true;
  };
  /** How much of annotation queues is done. */
  readonly "POST /annotation_queues/stats": {
    readonly body: AnnotationQueueStatsReq;
    readonly answer: {
      /** Of those that there are, in their order. */
      readonly stats: readonly AnnotationQueueStats[];
    };
  };
  /** Read an annotation queue. */
  readonly "GET /annotation_queues/{queue_id}": {
    readonly path: {
      /** The queue's id. */
      readonly queue_id: string;
    };
    readonly query: {
      /** `<entity>/<project>`. */
      readonly project_id: string;
    };
    readonly answer: {
      readonly queue: AnnotationQueue;
    };
  };
  /** Change an annotation queue. */
  readonly "PUT /annotation_queues/{queue_id}": {
    readonly path: {
      /** The queue's id. */
      readonly queue_id: string;
    };
    readonly body: AnnotationQueueUpdateReq;
    readonly answer: {
      readonly queue: AnnotationQueue;
    };
  };
  /** Delete an annotation queue. */
  readonly "DELETE /annotation_queues/{queue_id}": {
    readonly path: {
      /** The queue's id. */
      readonly queue_id: string;
    };
    readonly query?: {
      /** `<entity>/<project>`. */
      readonly project_id?: string;
    };
    readonly answer: {
      readonly queue: AnnotationQueue;
    };
  };
  /** How far the annotators of a queue agree. */
  readonly "GET /annotation_queues/{queue_id}/agreement": {
    readonly path: {
      /** The queue's id. */
      readonly queue_id: string;
    };
    readonly query: {
      /** `<entity>/<project>`. */
      readonly project_id: string;
    };
    readonly answer: {
      /** Of each question that the queue asks. */
      readonly agreement: readonly QuestionAgreement[];
    };
  };
  /** Add items to a queue. */
  readonly "POST /annotation_queues/{queue_id}/items": {
    readonly path: {
      /** The queue's id. */
      readonly queue_id: string;
    };
    readonly body: AnnotationItemsAddReq;
    readonly answer: {
      readonly added_count: number;
      /** Those that the queue had, or that came twice. */
      readonly duplicates: number;
    };
  };
  /** List the items of a queue. */
  readonly "POST /annotation_queues/{queue_id}/items/query": {
    readonly path: {
      /** The queue's id. */
      readonly queue_id: string;
    };
    readonly body: AnnotationItemsQueryReq;
    readonly answer: {
      readonly items: readonly AnnotationItem[];
    };
  };
  /** Claim the next item of a queue. */
  readonly "POST /annotation_queues/{queue_id}/claim": {
    readonly path: {
      /** The queue's id. */
      readonly queue_id: string;
    };
    readonly body: AnnotationClaimReq;
    readonly answer: {
      /** Null where there is none now. */
      readonly item: AnnotationItem | null;
      /** What the call says; null where it is not recorded here. */
      readonly content: AnnotationItemContent | null;
      readonly annotator: string;
      readonly remaining: {
        /** Items that the annotator has still to do, this one too. */
        readonly open: number;
        /** Those of them that others hold, and may give back. */
        readonly held: number;
      };
    };
  };
  /** Say how far an annotator is with an item. */
  readonly "POST /annotation_queues/{queue_id}/items/{item_id}/progress": {
    readonly path: {
      /** The queue's id. */
      readonly queue_id: string;
      /** The item's id. */
      readonly item_id: string;
    };
    readonly body: AnnotationProgressReq;
    readonly answer: {
      readonly item: AnnotationItem;
    };
  };
  /** Answer the questions on an item. */
  readonly "POST /annotation_queues/{queue_id}/items/{item_id}/answers": {
    readonly path: {
      /** The queue's id. */
      readonly queue_id: string;
      /** The item's id. */
      readonly item_id: string;
    };
    readonly body: AnnotationAnswerReq;
    readonly answer: {
      readonly item: AnnotationItem;
      /** The records that the answers are. */
      readonly feedback: readonly FeedbackRecord[];
    };
  };
  /** Take back what an annotator said of an item. */
  readonly "POST /annotation_queues/{queue_id}/items/{item_id}/reopen": {
    readonly path: {
      /** The queue's id. */
      readonly queue_id: string;
      /** The item's id. */
      readonly item_id: string;
    };
    readonly body: AnnotationClaimReq;
    readonly answer: {
      /** Null where there is none now. */
      readonly item: AnnotationItem | null;
      /** What the call says; null where it is not recorded here. */
      readonly content: AnnotationItemContent | null;
      readonly annotator: string;
      readonly remaining: {
        /** Items that the annotator has still to do, this one too. */
        readonly open: number;
        /** Those of them that others hold, and may give back. */
        readonly held: number;
      };
    };
  };
  /** Give back an item that an annotator holds. */
  readonly "POST /annotation_queues/{queue_id}/items/{item_id}/release": {
    readonly path: {
      /** The queue's id. */
      readonly queue_id: string;
      /** The item's id. */
      readonly item_id: string;
    };
    readonly body: AnnotationReleaseReq;
    readonly answer: {
      readonly item: AnnotationItem;
    };
  };
  /** Say which server this is, to clients of Weave. */
  readonly "GET /server_info": {
    readonly answer: WeaveServerInfo;
  };
  /** Answer what clients of Weave ask in GraphQL. */
  readonly "POST /graphql": {
    readonly body: WeaveGraphqlReq;
    readonly answer: {
      readonly data: { readonly [name: string]: unknown };
    };
  };
  /** Publish an object. */
  readonly "POST /obj/create": {
    readonly body: WeaveObjectCreateReq;
    readonly answer: {
      /** What names the version. */
      readonly digest: string;
      readonly object_id: string;
    };
  };
  /** Read a published object. */
  readonly "POST /obj/read": {
    readonly body: WeaveObjectReadReq;
    readonly answer: {
      readonly obj: WeaveObject;
    };
  };
  /** List published objects. */
  readonly "POST /objs/query": {
    readonly body: WeaveObjectQueryReq;
    readonly answer: {
      readonly objs: readonly WeaveObject[];
    };
  };
  /** Delete versions of a published object. */
  readonly "POST /obj/delete": {
    readonly body: WeaveObjectDeleteReq;
    readonly answer: {
      readonly num_deleted: number;
    };
  };
  /** Publish a table. */
  readonly "POST /table/create": {
    readonly body: WeaveTableCreateReq;
    readonly answer: {
      /** What names the table. */
      readonly digest: string;
      /** In the order of the rows. */
      readonly row_digests: readonly string[];
    };
  };
  /** Publish a table of rows that other tables have. */
  readonly "POST /table/create_from_digests": {
    readonly body: WeaveTableOfDigestsReq;
    readonly answer: {
      /** What names the content. */
      readonly digest: string;
    };
  };
  /** Read rows of a table. */
  readonly "POST /table/query": {
    readonly body: WeaveTableQueryReq;
    readonly answer: {
      readonly rows: readonly WeaveRow[];
    };
  };
  /** Count the rows of a table. */
  readonly "POST /table/query_stats": {
    readonly body: WeaveTableStatsReq;
    readonly answer: {
      readonly count: number;
    };
  };
  /** Read what references lead to. */
  readonly "POST /refs/read_batch": {
    readonly body: WeaveRefsReadReq;
    readonly answer: {
      /** In the order of the references. */
      readonly vals: readonly unknown[];
    };
  };
  /** Record that a call began. */
  readonly "POST /call/start": {
    readonly body: WeaveCallStartReq;
    readonly answer: WeaveStartedCall;
  };
  /** Record that a call ended. */
  readonly "POST /call/end": {
    readonly body: WeaveCallEndReq;
    readonly answer: { readonly [name: string]: unknown };
  };
  /** Record that a call began. */
  readonly "POST /v2/{entity}/{project}/call/start": {
    readonly path: {
      /** The project's entity. */
      readonly entity: string;
      /** The project. */
      readonly project: string;
    };
    readonly body: WeaveCallStartReq;
    readonly answer: WeaveStartedCall;
  };
  /** Record that a call ended. */
  readonly "POST /v2/{entity}/{project}/call/end": {
    readonly path: {
      /** The project's entity. */
      readonly entity: string;
      /** The project. */
      readonly project: string;
    };
    readonly body: WeaveCallEndReq;
    readonly answer: { readonly [name: string]: unknown };
  };
  /** Record calls that have ended. */
  readonly "POST /v2/{entity}/{project}/calls/complete": {
    readonly path: {
      /** The project's entity. */
      readonly entity: string;
      /** The project. */
      readonly project: string;
    };
    readonly body: WeaveCallsCompleteReq;
    readonly answer: { readonly [name: string]: unknown };
  };
  /** Record beginnings and ends of calls. */
  readonly "POST /call/upsert_batch": {
    readonly body: WeaveCallBatchReq;
    readonly answer: {
      /** An item for each of the batch; empty for ends. */
      readonly res: readonly {
        readonly id?: string;
        readonly trace_id?: string;
      }[];
    };
  };
  /** Read recorded calls. */
  readonly "POST /calls/stream_query": {
    readonly body: WeaveCallsQueryReq;
    readonly bytes: true;
  };
  /** Count recorded calls. */
  readonly "POST /calls/query_stats": {
    readonly body: WeaveCallsStatsReq;
    readonly answer: {
      readonly count: number;
    };
  };
  /** Read a recorded call. */
  readonly "POST /call/read": {
    readonly body: WeaveCallReadReq;
    readonly answer: {
      readonly call: WeaveCall | null;
    };
  };
  /** Delete recorded calls. */
  readonly "POST /calls/delete": {
    readonly body: WeaveCallsDeleteReq;
    readonly answer: {
      /** How many of them there were. */
      readonly num_deleted: number;
    };
  };
  /** Publish a file. */
  readonly "POST /file/create": {
    readonly form: true;
    readonly answer: {
      /** What names the content. */
      readonly digest: string;
    };
  };
  /** Publish a file, by another name of the route. */
  readonly "POST /files/create": {
    readonly form: true;
    readonly answer: {
      /** What names the content. */
      readonly digest: string;
    };
  };
  /** Read a published file. */
  readonly "POST /file/content": {
    readonly body: WeaveFileContentReq;
    readonly bytes: true;
  };
}
