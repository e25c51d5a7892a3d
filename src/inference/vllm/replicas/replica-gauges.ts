// Gauges for each vLLM server of a model.
import type { EngineGauge } from "../../../base/domain/generation.ts";
import type { RemoteSettings } from "../settings.ts";
import type { Replica } from "./replica.ts";
import type { PlaceCounts } from "./admission-queue.ts";

type Shown = Pick<Replica, "server" | "facts" | "failureTotal" | "adapters">;

export function replicaGauges(
  { server, facts, failureTotal, adapters }: Shown,
  { runningCount, waitingCount, runningSequences }: PlaceCounts,
  { sequencesMax, adaptersMax }: Pick<RemoteSettings, "sequencesMax" | "adaptersMax">,
): readonly EngineGauge[] {
  const labels = { server: server.name };
  return [
    {
      name: "replica_ready",
      value: facts === null ? 0 : 1,
      limit: null,
      about: "1 while the server answers.",
      labels,
    },
    {
      name: "replica_requests_running",
      value: runningCount,
      limit: null,
      about: "Requests running on the server.",
      labels,
    },
    {
      name: "replica_requests_waiting",
      value: waitingCount,
      limit: null,
      about: "Requests waiting for room on the server.",
      labels,
    },
    {
      name: "replica_sequences",
      value: runningSequences,
      limit: sequencesMax,
      about: "Answers being computed by the server.",
      labels,
    },
    {
      name: "replica_adapters",
      value: adapters.count,
      limit: adaptersMax,
      about: "Adapters loaded by the server.",
      labels,
    },
    {
      name: "replica_failures_total",
      value: failureTotal,
      limit: null,
      about: "Requests that the server failed, including those answered elsewhere.",
      labels,
      isTotal: true,
    },
  ];
}
