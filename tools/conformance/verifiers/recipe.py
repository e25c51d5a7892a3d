import asyncio, json, os, sys, time, uuid
import httpx
import verifiers.v1 as vf
from verifiers.v1.configs.agent import agent_config_fields
from verifiers.v1.utils import loaders

name, taskset, sampling, rounds = sys.argv[1], *map(json.loads, sys.argv[2:5])
hone = httpx.Client(base_url=os.environ["HONE_URL"], headers={"authorization": f"Bearer {os.environ['HONE_API_KEY']}"}, timeout=600)
def call(method, path, **body):
    answer = hone.request(method, f"/v1/preview/{path}", json=body or None)
    return answer.json() if answer.is_success else sys.exit(answer.text)
async def attempt(env, task, model, group, limit):
    async with limit:
        rollout = call("POST", f"models/{model}/rollouts", group=group)
        client = vf.EvalClientConfig(base_url=rollout["base_url"], api_key_var="HONE_API_KEY")
        episode = await env.run_episode(task, vf.ModelContext(name, client, vf.types.SamplingConfig(**sampling)))
        result = {"reward": sum(trace.reward for trace in episode.traces)} if episode.ok else {}
        call("POST", f"models/{model}/rollouts/{rollout['rollout_id']}/{'finish' if result else 'cancel'}", **result)
        return result["reward"] if result else print("cancelled:", episode.errors or [trace.errors for trace in episode.traces])
async def main(model):
    role = {"harness": {"id": "null"}, "runtime": {"type": "subprocess"}, "max_turns": 8}
    roles = dict.fromkeys(agent_config_fields(loaders.env_config_type(taskset["id"])(taskset=taskset)), role)
    env, limit = loaders.load_environment(loaders.resolve_env_config({"taskset": taskset, **roles})), asyncio.Semaphore(4)
    async with env.serving():
        for _ in range(rounds):
            groups = [(task, uuid.uuid4().hex) for task in env.taskset.take(4)]
            rewards = await asyncio.gather(*(attempt(env, task, model, group, limit) for task, group in groups for _ in range(4)))
            job = call("POST", "training-jobs", model_id=model, rollouts={"finished": "all", "whole_groups": True}, experimental_config={"steps": 4, "learning_rate": 5e-4})
            while (job := call("GET", f"training-jobs/{job['id']}"))["state"] in ("queued", "running"): time.sleep(1)
            print("rewards", json.dumps(rewards), job["state"], "version", job["result_step"], flush=True)
asyncio.run(main(call("POST", "models", project="verifiers", name=name, base_model="hone-tiny", return_existing=True)["id"]))
