"""Makes SQLAlchemy models of every table by reflection, and uses them. Argument: the database's URL."""
import sys
import warnings

from sqlalchemy import create_engine, select
from sqlalchemy.ext.automap import automap_base, name_for_scalar_relationship
from sqlalchemy.orm import Session, configure_mappers

# Two relationships by one column of several are no news: account and region are in many.
warnings.simplefilter("ignore")


# docs/orm.md: six columns have the name of the table that they refer to, as in IaSQL.
def relationship_name(base, local, referred, constraint):
    name = name_for_scalar_relationship(base, local, referred, constraint)
    return name + "_record" if name in local.__table__.columns else name


engine = create_engine(sys.argv[1].replace("postgres://", "postgresql+psycopg2://"))
Base = automap_base()
Base.prepare(engine, reflect=True, name_for_scalar_relationship=relationship_name)
configure_mappers()
with Session(engine) as session:
    vpc = Base.classes.vpc(account="orm", region="us-east-1", cidr_block="10.9.0.0/16")
    subnet = Base.classes.subnet(account="orm", region="us-east-1", cidr_block="10.9.1.0/24", vpc=vpc)
    session.add(subnet)
    session.commit()
    found = session.scalars(select(Base.classes.subnet).filter_by(cidr_block="10.9.1.0/24")).one()
    print("subnet of", found.vpc.cidr_block)
    group = Base.classes.target_group(account="orm", region="us-east-1", target_group_name="orm", protocol="HTTP", port=80, vpc_record=vpc)
    session.add(group)
    session.commit()
    print("group of", session.scalars(select(Base.classes.target_group)).one().vpc_record.cidr_block)
print("classes", len(Base.classes.keys()))
