# PostgreSQL 15 with pg_cron, set up as internal/devenv sets up a private cluster.
FROM postgres:15-bookworm
RUN apt-get update \
 && apt-get install -y --no-install-recommends postgresql-15-cron \
 && rm -rf /var/lib/apt/lists/*
CMD ["postgres", \
     "-c", "shared_preload_libraries=pg_cron", \
     "-c", "cron.database_name=iasql", \
     "-c", "cron.use_background_workers=on", \
     "-c", "cron.timezone=UTC", \
     "-c", "timezone=UTC", \
     "-c", "max_worker_processes=20", \
     "-c", "max_connections=200"]
