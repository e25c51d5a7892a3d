// For tests: the operations of the stub server, its models and saved states, and its futures, which complete in order.
import { mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { tarEnd, tarHeader } from "../../../../lib/archives/testing/hostile-archives.ts";
import type { TrainerProvider } from "../../trainer.ts";
import { type ServerKindName, serverKinds } from "../server-kinds.ts";
import { failedFuture, pendingFuture, type StubAnswer, StubRefusal } from "./stub-answers.ts";
import { StubModel } from "./stub-model.ts";
import {
  type JsonRequest,
  type ReceivedRequest,
  readJson,
  readProtobuf,
  writeJson,
  writeProtobuf,
} from "./stub-wire.ts";

export interface StubOptions {
  readonly kind: ServerKindName;
  /** Trainers that compute the stub server's results. */
  readonly trainers: TrainerProvider;
  /** Name of the base model on the stub server. */
  readonly base: string;
  /** Rank of the adapters that `trainers` makes. */
  readonly rank: number;
  /** Folder that only the stub server uses. */
  readonly folder: string;
  /** Storage of saved states; a new storage if absent. */
  readonly storage?: StubStorage;
  /** Returns the log-probabilities to send instead of the computed ones. */
  readonly logprobs?: (computed: readonly Float32Array[]) => readonly Float32Array[];
  /** Packs an adapter's files into an archive; by default in the form that real servers use. */
  readonly archive?: (files: ReadonlyMap<string, Buffer>) => Buffer;
}

export interface StubRequest {
  readonly method: string;
  readonly path: string;
  readonly body: Buffer;
  readonly key: string | undefined;
  readonly headers: Readonly<Record<string, unknown>>;
}

/** Storage that survives a server's restart. Servers that share a storage can continue from each other's states. */
export class StubStorage {
  /**
   * Saved states and adapters, keyed by `<model>/<type>/<name>`. A value is the key of the computing trainer's state,
   * or the bytes of an adapter's archive.
   */
  readonly kept = new Map<string, string | Buffer>();
  #count = 0;

  /** Returns a name that is unique within this storage. */
  name(kind: string): string {
    return `${kind}_${(this.#count += 1)}`;
  }
}

type Fields = Readonly<Record<string, unknown>>;
type Future = { readonly answer: StubAnswer | null };

/** Maximum time in milliseconds that the server keeps a poll open. */
const pollMs = 20;

export class StubOperations {
  readonly #options: StubOptions;
  readonly #models = new Map<string, StubModel>();
  readonly #futures = new Map<string, Future>();
  /** Submitted operations by model and sequence number, each with its future and the body of its request. */
  readonly #operations = new Map<string, { readonly future: string; readonly body: string }>();
  readonly #sessions = new Set<string>();
  readonly #storage: StubStorage;
  #queue: Promise<unknown> = Promise.resolve();
  #count = 0;

  constructor(options: StubOptions) {
    this.#options = options;
    this.#storage = options.storage ?? new StubStorage();
  }

  get kept(): readonly string[] {
    return [...this.#storage.kept.keys()];
  }

  /** Loses everything in memory, like a restarted server. */
  restart(): void {
    this.#models.clear();
    for (const id of this.#futures.keys())
      this.#futures.set(id, {
        answer: failedFuture(
          this.#options.kind,
          "Model was not loaded (likely stale request from previous server)",
        ),
      });
  }

  archive(place: string): Buffer {
    const [model, name] = place.split("/");
    return this.#storage.kept.get(`${model}/sampler/${name}`) as Buffer; // Safe cast: adapters are kept as buffers.
  }

  async answer({ method, path, body, key, headers }: StubRequest): Promise<StubAnswer> {
    const { kind } = this.#options;
    if (serverKinds[kind].needsKey && key !== "tml-key") throw new StubRefusal(401, "Invalid API key");
    if (method !== "POST") return await this.#ofCheckpoints(method, path);
    if (path === "forward_backward" || path === "forward")
      return await this.#compute(body, headers["content-type"]);
    const fields = JSON.parse(body.toString()) as Fields;
    switch (path) {
      case "create_session": {
        const id = this.#storage.name("session");
        this.#sessions.add(id);
        return { status: 200, json: { type: "create_session", session_id: id } };
      }
      case "session_heartbeat":
        if (!this.#sessions.has(String(fields["session_id"])))
          throw new StubRefusal(404, "Session not found");
        return { status: 200, json: { type: "session_heartbeat" } };
      case "create_model":
        return this.#createModel(fields);
      case "retrieve_future":
        return await this.#retrieve(String(fields["request_id"]));
      case "weights_info":
        return this.#weightsInfo(String(fields["tinker_path"]));
      case "unload_model":
        this.#models.delete(String(fields["model_id"]));
        return this.#promise(async () => ({ status: 200, json: { type: "unload_model" } }));
      default:
        return this.#operate(path, fields);
    }
  }

  async #compute(body: Buffer, contentType: unknown): Promise<StubAnswer> {
    const isProtobuf = contentType === "application/x-protobuf";
    const { kind } = this.#options;
    if (isProtobuf && kind === "open-rl")
      throw new StubRefusal(400, "Invalid JSON: expected value at line 1");
    if (!isProtobuf && serverKinds[kind].encoding !== "auto")
      throw new StubRefusal(415, "forward_backward requires an application/x-protobuf body");
    const request: ReceivedRequest = isProtobuf
      ? readProtobuf(body)
      : readJson(JSON.parse(body.toString()) as JsonRequest);
    return this.#once(request.modelId, request.seqId, body.toString("hex"), async (model) => {
      const computed = await model.compute(request.data, request);
      const logprobs = this.#options.logprobs?.(computed) ?? computed;
      return isProtobuf
        ? { status: 200, bytes: writeProtobuf(logprobs), contentType: "application/x-protobuf" }
        : { status: 200, json: writeJson(logprobs) };
    });
  }

  #createModel(fields: Fields): StubAnswer {
    const { kind, base, rank } = this.#options;
    const lora = fields["lora_config"] as { readonly rank: number; readonly seed: number };
    const id = this.#storage.name("model");
    if (fields["base_model"] !== base)
      throw new StubRefusal(400, `Unsupported base model: ${String(fields["base_model"])}`);
    const promise = this.#promise(async () => {
      if (lora.rank !== rank) return failedFuture(kind, `LoRA rank ${lora.rank} must be ${rank}`);
      this.#models.set(id, await this.#opened({ kind: "new", seed: `${lora.seed}` }));
      return { status: 200, json: { model_id: id, base_model: base, lora_config: { ...lora, alpha: 32 } } };
    });
    return { ...promise, json: { ...(promise.json as object), model_id: id, status: "created" } };
  }

  #operate(path: string, fields: Fields): StubAnswer {
    const [id, seqId] = [String(fields["model_id"]), Number(fields["seq_id"])];
    const name = String(fields["path"]);
    switch (path) {
      case "optim_step": {
        const adam = fields["adam_params"] as Readonly<Record<string, number>>;
        return this.#once(id, seqId, JSON.stringify(fields), async (model) => ({
          status: 200,
          json: { metrics: { "skyrl.ai/grad_norm": await model.step(stepOf(adam, this.#options.kind)) } },
        }));
      }
      case "load_weights": {
        if (seqId !== 1) throw new StubRefusal(400, `LoadWeights is not permitted with seq_id ${seqId}`);
        const state = this.#stateOf(name);
        return this.#promise(async () => {
          const keepsOptimizer = fields["optimizer"] === true;
          this.#models.set(id, await this.#opened({ kind: "state", state, keepsOptimizer }));
          return { status: 200, json: { type: path } };
        });
      }
      case "save_weights":
      case "save_weights_for_sampler":
        return this.#save(path, id, name);
      default:
        throw new StubRefusal(404, "Not Found");
    }
  }

  #save(path: string, id: string, name: string): StubAnswer {
    if (!/^[\w-]{1,255}$/.test(name)) throw new StubRefusal(422, `${name} is no name`);
    const type = path === "save_weights" ? "training" : "sampler";
    const key = `${id}/${type}/${name}`;
    if (this.#storage.kept.has(key)) throw new StubRefusal(409, `Checkpoint ${name} already exists`);
    const call = { id: key, signal: new AbortController().signal };
    this.#storage.kept.set(key, "");
    return this.#promise(async () => {
      const model = this.#modelOf(id);
      if (type === "training")
        this.#storage.kept.set(key, await model.trainer.saveState(`kept/${id}/${name}`, call));
      else {
        const folder = mkdtempSync(join(this.#options.folder, "export-"));
        await model.trainer.exportAdapter(folder, call);
        const files = new Map(
          readdirSync(folder).map((file) => [file, readFileSync(join(folder, file))] as const),
        );
        this.#storage.kept.set(key, (this.#options.archive ?? skyrlArchive)(files));
        this.#leave(id, files);
        rmSync(folder, { recursive: true });
      }
      return { status: 200, json: { type: path, path: `tinker://${id}/${name}` } };
    });
  }

  /** Writes the adapter to the shared folder if this kind of server sends no archives. */
  #leave(id: string, files: ReadonlyMap<string, Buffer>): void {
    const { kind, folder } = this.#options;
    const places: Partial<Record<ServerKindName, string>> = {
      "skyrl-fsdp": ".",
      "skyrl-megatron": id,
      "open-rl": join(id, id),
    };
    const place = places[kind];
    if (place === undefined) return;
    mkdirSync(join(folder, "adapters", place), { recursive: true });
    for (const [name, content] of files) writeFileSync(join(folder, "adapters", place, name), content);
  }

  async #ofCheckpoints(method: string, path: string): Promise<StubAnswer> {
    if (path === "healthz") return { status: 200, json: { status: "ok" } };
    const [, download] = /^download\/(.+)$/.exec(path) ?? [];
    if (download !== undefined)
      return { status: 200, bytes: this.archive(download), contentType: "application/octet-stream" };
    const [, id, rest] = /^training_runs\/([^/]+)\/checkpoints\/?(.*)$/.exec(path) ?? [];
    if (id === undefined || rest === undefined) throw new StubRefusal(404, "Not Found");
    if (method === "DELETE") {
      const [type, name] = rest.split("/");
      const key = `${id}/${type === "weights" ? "training" : "sampler"}/${name}`;
      if (!this.#storage.kept.delete(key)) throw new StubRefusal(404, `Checkpoint not found: ${rest}`);
      return { status: 204, bytes: new Uint8Array() };
    }
    if (rest === "") return { status: 200, json: { checkpoints: this.#listOf(id) } };
    const isPrefixed = ["tuft", "tinker"].includes(this.#options.kind);
    const [, name] =
      (isPrefixed ? /^sampler_weights\/([^/]+)\/archive$/ : /^([^/]+)\/archive$/).exec(rest) ?? [];
    if (name === undefined || !this.#storage.kept.has(`${id}/sampler/${name}`))
      throw new StubRefusal(404, "Checkpoint not found");
    return { status: 302, bytes: new Uint8Array(), archive: `${id}/${name}` };
  }

  #listOf(id: string): readonly unknown[] {
    return [...this.#storage.kept.entries()].flatMap(([key, value]) => {
      const [model, type, name] = key.split("/");
      return model === id && value !== "" ? [{ checkpoint_id: name, checkpoint_type: type }] : [];
    });
  }

  #weightsInfo(path: string): StubAnswer {
    if (this.#options.kind === "open-rl") throw new StubRefusal(404, "Not Found");
    this.#stateOf(path);
    return {
      status: 200,
      json: { base_model: this.#options.base, is_lora: true, lora_rank: this.#options.rank },
    };
  }

  #stateOf(path: string): string {
    const [, id, name] = /^tinker:\/\/([^/]+)\/weights\/([^/]+)$/.exec(path) ?? [];
    const state = this.#storage.kept.get(`${id}/training/${name}`);
    if (typeof state !== "string" || state === "")
      throw new StubRefusal(404, `Checkpoint not found: ${path}`);
    return state;
  }

  /**
   * Starts an operation, and returns its future. If an operation with the same sequence number was started before,
   * starts nothing and returns the future of that operation.
   */
  #once(
    id: string,
    seqId: number,
    body: string,
    compute: (model: StubModel) => Promise<StubAnswer>,
  ): StubAnswer {
    const key = `${id} ${seqId}`;
    const earlier = this.#operations.get(key);
    if (earlier !== undefined) {
      if (earlier.body !== body) throw new StubRefusal(409, "Training request sequence number was reused");
      return promised(earlier.future, this.#options.kind);
    }
    const promise = this.#promise(async () => await compute(this.#modelOf(id)));
    this.#operations.set(key, { future: (promise.json as { readonly request_id: string }).request_id, body });
    return promise;
  }

  #modelOf(id: string): StubModel {
    const model = this.#models.get(id);
    if (model === undefined) throw new Error(`Model ${id} not loaded`);
    return model;
  }

  async #opened(start: Parameters<TrainerProvider["open"]>[0]): Promise<StubModel> {
    const { trainers, rank, kind } = this.#options;
    const call = { id: this.#storage.name("run"), signal: new AbortController().signal };
    return new StubModel(await trainers.open(start, call), rank, serverKinds[kind].normalization);
  }

  #promise(compute: () => Promise<StubAnswer>): StubAnswer {
    const id = `${(this.#count += 1)}`;
    this.#futures.set(id, { answer: null });
    const { kind } = this.#options;
    const run = async (): Promise<void> => {
      // After a restart, the server has forgotten this operation and does not carry it out.
      if (this.#futures.get(id)?.answer !== null) return;
      const answer = await compute().catch((error: unknown) => failedFuture(kind, String(error)));
      this.#futures.set(id, { answer });
    };
    this.#queue = this.#queue.then(run);
    return promised(id, kind);
  }

  async #retrieve(id: string): Promise<StubAnswer> {
    for (let waitedMs = 0; ; waitedMs += 2) {
      const future = this.#futures.get(id);
      if (future === undefined) throw new StubRefusal(404, "Future not found");
      if (future.answer !== null) return future.answer;
      if (waitedMs >= pollMs) return pendingFuture(this.#options.kind, id);
      await new Promise((resolve) => setTimeout(resolve, 2));
    }
  }
}

function promised(id: string, kind: ServerKindName): StubAnswer {
  return { status: kind === "tuft" ? 202 : 200, json: { request_id: id, status: "pending", future_id: id } };
}

/** Converts a request to an optimizer step, without gradient clipping if this kind of server ignores it. */
function stepOf(
  adam: Readonly<Record<string, number>>,
  kind: ServerKindName,
): Parameters<StubModel["step"]>[0] {
  const clips = serverKinds[kind].fixedInStep.length === 0;
  return {
    learningRate: adam["learning_rate"],
    beta1: adam["beta1"],
    beta2: adam["beta2"],
    epsilon: adam["eps"],
    weightDecay: adam["weight_decay"],
    gradientNormMax: clips ? adam["grad_clip_norm"] : 0,
  };
}

/**
 * Packs files into an archive like SkyRL: gzipped, with an entry for the folder. The adapter's configuration does not
 * name the adapted modules.
 */
export function skyrlArchive(files: ReadonlyMap<string, Buffer>): Buffer {
  const entries = [...files].flatMap(([name, content]) => {
    const written = name === "adapter_config.json" ? withoutTargets(content) : content;
    const padding = Buffer.alloc((512 - (written.length % 512)) % 512);
    return [tarHeader(name, written.length), written, padding];
  });
  return gzipSync(Buffer.concat([tarHeader("/", 0, "5"), ...entries, tarEnd]));
}

function withoutTargets(config: Buffer): Buffer {
  const fields = JSON.parse(config.toString()) as Fields;
  return Buffer.from(JSON.stringify({ ...fields, target_modules: null, task_type: null }));
}
