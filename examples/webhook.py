#!/usr/bin/env python3
"""Tells a webhook of drift: webhook.py DATABASE_URL WEBHOOK_URL

Notifications of PostgreSQL are only a reason to look: one that is sent while nobody listens is
lost. So what is told comes from the audit log, which is looked through at every notification
and once a minute. The last row that was told is kept in a file, by default in the working
directory. The webhook may be told of a row twice, and of none never.

Needs psycopg2 (Debian: python3-psycopg2).
"""

import json
import os
import select
import sys
import time
import urllib.request

import psycopg2

database, webhook = sys.argv[1:3]
MARK = os.environ.get("MARK", "webhook.mark")

# Rows of an unfinished transaction have ids that are lower than those of finished ones: the
# last five minutes are looked through anew, and what has been told of them is remembered.
# A minute is left for the event that says who it was, if it comes after the listing.
DRIFT = """
    SELECT id, ts, table_name, record_id, change_type, actor, actor_session, source_address, user_agent,
           CASE WHEN change_type = 'UPDATE' THEN ARRAY(SELECT jsonb_object_keys(change -> 'change')) END AS columns
    FROM iasql_audit_log
    WHERE origin = 'engine' AND table_name IS NOT NULL AND ts > to_timestamp(%s) - interval '5 minutes'
      AND (actor IS NOT NULL OR since IS NULL OR ts < now() - interval '1 minute')
      AND NOT id = ANY (%s)
    ORDER BY id LIMIT 100
"""


def tell(row):
    body = {name: value for name, value in row.items() if value is not None}
    who = row["actor_session"] or row["actor"] or "somebody"
    body["text"] = f"{who}: {row['change_type'].lower()} of {row['table_name']} {row['record_id']}"  # what chats show
    request = urllib.request.Request(webhook, json.dumps(body, default=str).encode(), {"Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=30):
        pass


def mark():
    try:
        with open(MARK) as file:
            return json.load(file)
    except FileNotFoundError:
        return {"since": time.time(), "told": {}}


def look(cursor, done):
    while True:
        cursor.execute(DRIFT, (done["since"], [int(id) for id in done["told"]]))
        names = [column.name for column in cursor.description]
        rows = [dict(zip(names, values)) for values in cursor]
        for row in rows:
            tell(row)
            done["told"][str(row["id"])] = row["ts"].timestamp()
            done["since"] = max(done["since"], row["ts"].timestamp())
            done["told"] = {id: at for id, at in done["told"].items() if at > done["since"] - 3600}
            with open(MARK + ".new", "w") as file:
                json.dump(done, file)
            os.replace(MARK + ".new", MARK)
        if len(rows) < 100:
            return


def main():
    done = mark()
    while True:
        try:
            connection = psycopg2.connect(database)
            connection.autocommit = True
            cursor = connection.cursor()
            cursor.execute("LISTEN iasql_events")
            while True:
                look(cursor, done)
                select.select([connection], [], [], 60)
                connection.poll()
                del connection.notifies[:]
        except (psycopg2.Error, OSError) as error:  # the database or the webhook: once more
            print(f"webhook: {error}", file=sys.stderr)
            time.sleep(5)


main()
