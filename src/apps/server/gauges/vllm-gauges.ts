// Gauges of the engines under vLLM's names, for gateways: running and waiting requests, KV cache usage, and adapters.
// The chat service exposes vLLM's counters and timings of requests.
import type { ChatService } from "../../../inference/chat/complete-chat.ts";
import { vllmLabels } from "../../../inference/chat/measures/chat-metrics.ts";
import type { Clock } from "../../../base/domain/clock.ts";
import type { Engine, EngineGauge, EngineStatus } from "../../../base/domain/generation.ts";
import type { BaseModel } from "../../../base/domain/model.ts";
import type { Metrics } from "../../../base/telemetry/metrics.ts";

interface GaugeSources {
  readonly bases: readonly {
    readonly model: Pick<BaseModel, "name">;
    readonly engine: Pick<Engine, "status">;
  }[];
  readonly chat: Pick<ChatService, "trainedRequests">;
  /** Maximum number of choices that are generated at the same time. Each may use a different adapter. */
  readonly slotCountMax: number;
  readonly clock: Pick<Clock, "now">;
}

const labels = ["model_name", "engine"];

/** Registers the gauges. */
export function exposeVllmGauges(metrics: Metrics, { bases, chat, slotCountMax, clock }: GaugeSources): void {
  const samples = (read: (status: EngineStatus) => number | null) => () =>
    bases.flatMap(({ model, engine }) => {
      const value = read(engine.status());
      return value === null ? [] : [{ labels: vllmLabels(model.name), value }];
    });
  metrics.gauge(
    { name: "vllm:num_requests_running", help: "Running requests.", labels },
    samples(({ runningCount }) => runningCount),
  );
  metrics.gauge(
    {
      name: "vllm:num_requests_waiting",
      help: "Requests that wait until the engine has capacity for them.",
      labels,
    },
    samples(({ waitingCount }) => waitingCount),
  );
  metrics.gauge(
    {
      name: "vllm:kv_cache_usage_perc",
      help: "Share of the KV cache in use; 1 is all of it.",
      labels,
    },
    samples((status) => shareOf(status, "kv_cache_bytes")),
  );
  metrics.countedElsewhere(
    { name: "vllm:prefix_cache_queries_total", help: "Prompt tokens looked up in the prefix cache.", labels },
    samples((status) => valueOf(status, "prefix_cache_queries")),
  );
  metrics.countedElsewhere(
    { name: "vllm:prefix_cache_hits_total", help: "Prompt tokens found in the prefix cache.", labels },
    samples((status) => valueOf(status, "prefix_cache_hits")),
  );
  metrics.gauge(
    {
      name: "vllm:lora_requests_info",
      help: "Trained models that running and waiting requests use; their ids are in the labels. As in vLLM, the value is only the current Unix time in seconds.",
      labels: [...labels, "max_lora", "running_lora_adapters", "waiting_lora_adapters"],
    },
    () => {
      const requests = [...chat.trainedRequests()];
      return bases.map(({ model: { name } }) => {
        const adapters = (areBegun: boolean): string =>
          idsOf(requests.filter(({ base, hasBegun }) => base === name && hasBegun === areBegun));
        return {
          labels: {
            ...vllmLabels(name),
            max_lora: String(slotCountMax),
            running_lora_adapters: adapters(true),
            waiting_lora_adapters: adapters(false),
          },
          value: clock.now().getTime() / 1000,
        };
      });
    },
  );
}

function gaugeOf({ gauges }: EngineStatus, name: string): EngineGauge | undefined {
  return gauges().find((gauge) => gauge.name === name);
}

function valueOf(status: EngineStatus, name: string): number | null {
  return gaugeOf(status, name)?.value ?? null;
}

function shareOf(status: EngineStatus, name: string): number | null {
  const { value = 0, limit = null } = gaugeOf(status, name) ?? {};
  return limit === null || limit === 0 ? null : value / limit;
}

/** Returns the distinct model ids in vLLM's format: joined by commas. */
function idsOf(requests: readonly { readonly modelId: string }[]): string {
  return [...new Set(requests.map(({ modelId }) => modelId))].join(",");
}
