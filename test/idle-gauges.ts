// Checks that all gauges of work in progress are 0 on an idle server.
import { call, eventually, type RunningServer } from "./running-server.ts";

export const gaugesUnderWay: readonly string[] = [
  "hone_http_requests_in_flight",
  "hone_http_body_bytes",
  "hone_http_read_bytes",
  "hone_http_reads_waiting",
  "hone_chat_running",
  "hone_chat_prompts_waiting",
  "hone_engine_requests_running",
  "hone_engine_requests_waiting",
  "hone_engine_kv_cache_bytes",
  "hone_job_event_streams",
];

/** Time limit in milliseconds within which work must end after its client has disconnected. */
const deadlineMs = 20_000;

/** @returns one line for each gauge that is missing or does not become 0 */
export async function busyGauges(server: Pick<RunningServer, "url" | "apiKey">): Promise<readonly string[]> {
  let busy: readonly string[] = [];
  await eventually(
    "nothing is under way",
    async () => {
      const { body } = await call(server, "GET", "/metrics");
      const lines = String(body).split("\n");
      busy = gaugesUnderWay.flatMap((name) => {
        const found = lines.filter((line) => line.startsWith(`${name} `) || line.startsWith(`${name}{`));
        return found.length === 0 ? [`there is no ${name}`] : found.filter((line) => !line.endsWith(" 0"));
      });
      return busy.length === 0 ? true : null;
    },
    deadlineMs,
  ).catch(() => undefined);
  return busy;
}
