"""Runs one migration with Alembic. Arguments: the database's URL, the file with its statements, and waits or plain."""
import os
import sys
import tempfile

from alembic import command
from alembic.config import Config

url, statements, how = sys.argv[1:]
here = tempfile.mkdtemp()
os.mkdir(os.path.join(here, "versions"))
with open(os.path.join(here, "env.py"), "w") as f:
    f.write("""
from alembic import context
from sqlalchemy import create_engine

engine = create_engine(context.config.get_main_option("sqlalchemy.url"))
with engine.connect() as connection:
    context.configure(connection=connection, transaction_per_migration=True)
    with context.begin_transaction():
        context.run_migrations()
""")
upgrade = """    for sql in statements:
        op.execute(sql)
"""
if how == "waits":  # docs/migrations.md
    upgrade = """    with op.get_context().autocommit_block():
        for sql in statements:
            op.execute(sql)
"""
with open(os.path.join(here, "versions", "one.py"), "w") as f:
    f.write(f"""
from alembic import op

revision = "one"
down_revision = None
statements = {open(statements).read().splitlines()!r}


def upgrade():
{upgrade}""")
config = Config()
config.set_main_option("script_location", here)
config.set_main_option("sqlalchemy.url", url.replace("postgres://", "postgresql+psycopg2://"))
command.upgrade(config, "head")
