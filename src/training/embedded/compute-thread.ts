// A thread that runs programs of training: in it every run is computed to its end, whatever other threads do.
import { serveTasks, taskData } from "../../processes/serve-tasks.ts";
import { type ProgramRun, Programs, type ProgramsOptions } from "./programs.ts";

// What `ComputeThreads` starts it with.
const programs = new Programs(taskData() as ProgramsOptions);

serveTasks(async (task) => {
  // What `ComputeThreads` sends.
  const outputs = await programs.run(task as ProgramRun);
  // The runtime makes new arrays for each run, which are the caller's.
  const transfer = Object.values(outputs).map(({ data }) => data.buffer as ArrayBuffer);
  return { result: outputs, transfer };
});
