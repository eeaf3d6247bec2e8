#!/usr/bin/env python3
"""Records the session that the README shows; see `make session`.

It runs the engine with an emulator of its own, a psql for every statement and the
aws command, and writes what they print into an SVG whose lines appear one after
the other. Nothing in it is made up; pauses longer than two seconds are cut.
"""
import html
import os
import re
import signal
import subprocess
import sys
import tempfile
import time

# SQL goes to psql, what begins with $ to the shell. {vpc} and {id} are of the row that it inserts.
STEPS = [
    "SELECT count(*) AS tables, sum(record_count) AS records FROM iasql_install('aws_vpc');",
    """INSERT INTO vpc (cidr_block, tags) VALUES ('10.0.0.0/16', '{"Name": "web"}') RETURNING id;""",
    "SELECT vpc_id, state, tags FROM vpc WHERE cidr_block = '10.0.0.0/16';  -- a moment later",
    "$ aws ec2 create-tags --resources {vpc} --tags Key=team,Value=network  # somebody else",
    "SELECT iasql_sync_now('vpc');  -- or wait a minute",
    "SELECT tags FROM vpc WHERE cidr_block = '10.0.0.0/16';",
    "CALL iasql_begin('shop');  -- stage, look, commit",
    "UPDATE vpc SET enable_dns_hostnames = true WHERE cidr_block = '10.0.0.0/16';",
    "INSERT INTO subnet (vpc_id, cidr_block) VALUES ({id}, '10.0.1.0/24');",
    "SELECT action, description, changes -> 'enable_dns_hostnames' AS dns FROM iasql_preview();",
    "CALL iasql_commit('the shop needs a network');",
    "SELECT * FROM iasql_calls LIMIT 4;",
]
FONT, WIDTH, LINE, TOP = 13, 900, 18, 44


def start(directory):
    """Starts the engine and returns it with the database's URL and the emulator's."""
    engine = subprocess.Popen(["bin/engine", "dev", "--data-dir", directory, "--pg-port", "0", "--aws-port", "0", "--http", "127.0.0.1:0"],
                              stdout=subprocess.PIPE, stderr=open(directory + ".log", "w"), text=True)
    for line in engine.stdout:
        if line.startswith("ready: "):
            log = open(directory + ".log").read()
            return engine, line.split()[1], re.search(r"endpoint=(\S+)", log).group(1)
    sys.exit("session: the engine did not start:\n" + open(directory + ".log").read())


def record(url, cloud):
    """Runs the steps and returns (seconds since the one before, kind, line)."""
    aws = dict(os.environ, AWS_ACCESS_KEY_ID="testing", AWS_SECRET_ACCESS_KEY="testing", AWS_DEFAULT_REGION="us-east-1", AWS_ENDPOINT_URL=cloud)
    psql = subprocess.Popen(["psql", "-X", "-q", "-P", "footer=off", "-v", "ON_ERROR_STOP=1", url], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                            stderr=subprocess.STDOUT, text=True, bufsize=1, env=dict(os.environ, PGOPTIONS="-c client_min_messages=warning"))
    lines, vpc, row = [], "", ""
    for step in STEPS:
        step = step.replace("{vpc}", vpc).replace("{id}", row)
        if step.startswith("$"):
            lines.append((1.2, "shell", step))
            began = time.time()
            subprocess.run(step[1:], shell=True, check=True, env=aws)
            lines.append((time.time() - began, "out", ""))
            continue
        lines.append((1.2, "sql", step))
        if step.startswith("SELECT vpc_id"):
            time.sleep(1)
        began = time.time()
        psql.stdin.write(step.split("  --")[0] + "\n\\echo =====\n")
        psql.stdin.flush()
        out = []
        for line in psql.stdout:
            if line.startswith("====="):
                break
            out.append(line.rstrip("\n"))
        else:
            sys.exit("session: psql ended: " + "\n".join(out))
        took = time.time() - began
        if step.endswith("RETURNING id;"):
            row = out[2].strip()
        for line in out:
            lines.append((took, "out", line))
            took = 0
            vpc = vpc or (re.search(r"vpc-[0-9a-f]+", line) or [""])[0]
    psql.stdin.close()
    psql.wait()
    while lines[-1][2] == "":
        lines.pop()
    return lines


def draw(lines):
    """Returns the SVG."""
    height = TOP + LINE * len(lines) + 14
    at, text = 0.5, []
    for i, (pause, kind, line) in enumerate(lines):
        at += min(pause, 2)
        prompt = {"sql": '<tspan class="prompt">iasql=&gt; </tspan>', "shell": '<tspan class="prompt"></tspan>'}.get(kind, "")
        shown, note = html.escape(line, quote=False), ""
        if kind != "out" and re.search(r"  (--|#) ", shown):
            shown, mark, note = re.split(r"(  (?:--|#) )", shown, maxsplit=1)
            note = f'<tspan class="note">{mark}{note}</tspan>'
        text.append(f'<text class="{kind}" x="18" y="{TOP + LINE * (i + 1) - 4}" style="animation-delay:{at:.2f}s" xml:space="preserve">{prompt}{shown}{note}</text>')
    return f"""<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" height="{height}" role="img" aria-label="A recorded session with psql">
<!-- Made by scripts/session.py of a real run. -->
<style>
text {{ font: {FONT}px ui-monospace, "SF Mono", Menlo, Consolas, "DejaVu Sans Mono", monospace; fill: #c9d3e6; white-space: pre; animation: come .01s both; }}
.sql, .shell {{ fill: #fff; }} .prompt {{ fill: #7db0ff; }} .note {{ fill: #8fa0bd; }}
@keyframes come {{ from {{ opacity: 0; }} to {{ opacity: 1; }} }}
@media (prefers-reduced-motion: reduce) {{ text {{ animation: none; }} }}
</style>
<rect width="{WIDTH}" height="{height}" rx="10" fill="#131a29"/>
<circle cx="22" cy="20" r="6" fill="#ff5f57"/><circle cx="42" cy="20" r="6" fill="#febc2e"/><circle cx="62" cy="20" r="6" fill="#28c840"/>
{chr(10).join(text)}
</svg>
"""


def main():
    with tempfile.TemporaryDirectory() as directory:
        os.chmod(directory, 0o755)
        engine, url, cloud = start(directory + "/data")
        try:
            lines = record(url, cloud)
        finally:
            engine.send_signal(signal.SIGTERM)
            engine.wait(60)
    with open(sys.argv[1], "w") as file:
        file.write(draw(lines))


main()
